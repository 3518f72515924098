package sqlite

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/lists"
	"github.com/ingero-io/ingero/store"
)

// outage is the time in which nothing could be written. It ends with a commit, by which it is written.
type outage struct {
	from, to uint64 // Unix ns: from the last commit to the last rows that were lost; zero: there is none
	why      string
}

// The time a writer waits for another program that has the file locked, usually and in an outage: its
// caller has other things to do.
const (
	busyTimeout   = 5 * time.Second
	outageTimeout = 200 * time.Millisecond
)

// failed begins an outage, or makes it longer.
func (w *Writer) failed(err error) {
	o := &w.outage
	o.to = uint64(w.opt.Now().UnixNano())
	if o.from == 0 {
		o.from = min(w.flushed, o.to)
		w.conn.SetBusyTimeout(outageTimeout)
	}
	o.why = whyUnwritten(w.path, err)
}

// wrote ends an outage.
func (w *Writer) wrote() {
	w.flushed = uint64(w.opt.Now().UnixNano())
	if w.outage.from != 0 {
		w.outage = outage{}
		w.conn.SetBusyTimeout(busyTimeout)
	}
}

// writeOutage adds the outage to the transaction that ends it.
func (w *Writer) writeOutage() error {
	o := &w.outage
	if o.from == 0 {
		return nil
	}
	const query = "insert or replace into pause values (?, ?, ?, ?)"
	return exec(w.conn, query, int64(o.from), w.session.id, int64(o.to), o.why)
}

// Skip implements store.Writer.
func (w *Writer) Skip(b *store.Batch) {
	if w.closed {
		return
	}
	w.count(b, w.dropCalls)
	w.dropCalls()
	w.skipKinds(b)
	w.endAllSeries(b)
	if w.outage.from != 0 {
		w.outage.to = uint64(w.opt.Now().UnixNano())
	}
}

// Lost implements store.Writer.
func (w *Writer) Lost() uint64 { return w.lostRows }

// lostStored counts rows that were lost.
func (w *Writer) lostStored(n uint64) {
	w.lostRows += n
	w.lose(event.LostStored, n)
}

// dropCalls loses the calls that are pending.
func (w *Writer) dropCalls() {
	w.lostStored(uint64(len(w.pending)))
	w.pending = w.pending[:0]
	w.shed()
}

// skipKinds holds what has to be kept of a batch's other rows, and loses the rest.
func (w *Writer) skipKinds(b *store.Batch) {
	var n uint64
	for _, k := range w.kinds {
		n += k.skip(b)
	}
	if b.Footprint != nil {
		n += uint64(lists.Len(b.Footprint))
	}
	w.lostStored(n)
}

// lossSecond is the second to which a loss belongs. An outage is one: however long it is, its losses take no
// more memory.
func (w *Writer) lossSecond() uint64 {
	if w.outage.from != 0 {
		return w.outage.from / second
	}
	return uint64(w.opt.Now().UnixNano()) / second
}

var errRemoved = errors.New("the file was deleted")

// whyUnwritten says why nothing could be written, in words that follow "not recorded from … to …: ".
func whyUnwritten(path string, err error) string {
	if errors.Is(err, errRemoved) {
		return "the recording's file was deleted"
	}
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		return diskFull
	case sqlite.ResultIOErr:
		return whyFailed(path)
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultAuth, sqlite.ResultCantOpen:
		return "the file could not be opened for writing"
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return "another program had the file locked"
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return "the file is damaged"
	}
	return "the file could not be written (" + code.String() + ")"
}

const diskFull = "the disk was full"

// whyFailed says why a write may have failed: SQLite does not tell the system's error.
func whyFailed(path string) string {
	var fs unix.Statfs_t
	if diskIsFull(path) {
		return diskFull
	}
	if unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0 {
		return "the file system was read-only"
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		for _, p := range []string{path, path + "-wal"} {
			if fileSize(p)+fileSlack >= int64(min(limit.Cur, 1<<62)) {
				return "the file had the largest size that is allowed (ulimit -f)"
			}
		}
	}
	return "a write to the disk failed, by an error of the disk or a quota"
}

// fileSlack is how far below its limit a file may be when a write fails: SQLite writes a page and a header, or
// 32 KiB of its index.
const fileSlack = 64 << 10
