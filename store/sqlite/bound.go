package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// LimitMemory bounds the memory that SQLite takes for all connections of this process, in bytes: a statement that needs
// more fails. It has to be called before the first connection is opened, and once: SQLite is built to count its memory
// only if it is told to. A process that records does not call it, as its own statements could fail.
func LimitMemory(bytes int64) error {
	tls := libc.NewTLS()
	defer tls.Close()
	on := libc.NewVaList(int32(1))
	defer libc.Xfree(tls, on)
	if code := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, on); code != lib.SQLITE_OK {
		return fmt.Errorf("limit the memory of SQLite: it is in use already (code %d)", code)
	}
	lib.Xsqlite3_hard_heap_limit64(tls, bytes)
	return nil
}

const (
	// mostMemory is how large Go's part of a process may be for rows to be read on, in bytes. What is read of a
	// recording is mostly added up, but some kinds of rows are kept: of a stranger's recording there may be any number.
	// 50 million calls take less (docs/benchmarks.md has 10 million).
	mostMemory = 320 << 20
	// otherMemory is how much more Go's part may become, in bytes, if it is that large already when a recording is
	// opened: because of other recordings, or of what else the program does.
	otherMemory = 128 << 20
	// checkEvery is how many rows are read between two looks at the memory and the file.
	checkEvery = 1024
	// smallestRow is fewer bytes than any row takes in a file: two for its place in the page, its length, its key, and
	// the length of its header (sqlite.org/fileformat2.html). If more rows come out, pages are in a tree several times.
	smallestRow = 4
	// longestStep is how long SQLite may search for the next row.
	longestStep = time.Minute
	// mostValue is the length of the longest value, or row, of a recording, in bytes.
	mostValue = 8 << 20
)

// bounded follows the rows of one statement.
type bounded struct {
	source *source
	rows   int64
	// turn is even while SQLite searches, and odd while a row is used; it never has the same value twice.
	turn   atomic.Int64
	timer  *time.Timer
	cancel context.CancelFunc
	late   atomic.Bool
	err    error // why no more rows are read, for users
}

// begin follows a statement. What it returns ends, if the next row does not come.
func (s *source) begin(ctx context.Context) (*bounded, context.Context) {
	b := &bounded{source: s}
	ctx, b.cancel = context.WithCancel(ctx)
	seen := int64(0)
	b.timer = time.AfterFunc(longestStep, func() {
		if turn := b.turn.Load(); turn != seen || turn%2 == 1 {
			seen = turn
			b.timer.Reset(longestStep)
			return
		}
		b.late.Store(true)
		b.cancel()
	})
	return b, ctx
}

func (b *bounded) end() {
	b.timer.Stop()
	b.cancel()
}

// row is called for each row before it is used.
func (b *bounded) row() error {
	b.turn.Store(2*b.rows + 1)
	if b.rows++; b.rows%checkEvery != 0 {
		return nil
	}
	if memory() > b.source.most {
		if debug.FreeOSMemory(); memory() > b.source.most {
			b.err = fmt.Errorf("%s: %w: more than %d MiB; ask for less of it with --since, --from and --to", b.source.path,
				store.ErrTooMuch, b.source.most>>20)
		}
	}
	if most := b.source.size()/smallestRow + checkEvery; b.rows > most {
		b.err = fmt.Errorf("%s: %w: a table has more rows than fit into the file", b.source.path, store.ErrCorrupt)
	}
	return b.err
}

// used is called when SQLite searches for the next row.
func (b *bounded) used() { b.turn.Store(2 * b.rows) }

// query runs a statement on a connection, within the bounds of what is read of a recording.
func (s *source) query(c *sqlite.Conn, query string, f func(*sqlite.Stmt) error) error {
	b, within := s.begin(context.Background())
	defer b.end()
	c.SetInterrupt(within.Done())
	defer c.SetInterrupt(nil)
	err := each(c, query, nil, func(st *sqlite.Stmt) error {
		if err := b.row(); err != nil {
			return err
		}
		defer b.used()
		return f(st)
	})
	if err != nil && b.late.Load() {
		return fmt.Errorf("%s: %w: no row in %s", s.path, store.ErrTooLong, longestStep)
	}
	return cmp.Or(b.err, err)
}

// memory is what Go has of the machine's memory, in bytes.
func memory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// size is how many bytes of the file and its log there are to be read. Holes do not count; what a file system
// compresses counts for up to 16 times of what it takes.
func (s *source) size() int64 {
	var n int64
	for _, stat := range []func() (os.FileInfo, error){
		s.file.file.Stat, func() (os.FileInfo, error) { return os.Stat(s.path + "-wal") },
	} {
		info, err := stat()
		if err != nil {
			continue // there is no log
		}
		size := info.Size()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			size = min(size, st.Blocks*512*16+1<<20)
		}
		n += size
	}
	return n
}
