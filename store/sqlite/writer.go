package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Options are the settings of a Writer. The zero value records without limits
// of size under an empty node name.
type Options struct {
	// Session describes the run. ID is ignored; Started 0 means now.
	Session store.Session
	// MaxBytes is the size of the file above which the oldest rows are deleted;
	// roll-ups stay. 0 means no limit.
	MaxBytes int64
	// RawRate is how many calls a second are stored one by one; 0 means DefaultRawRate.
	RawRate int
	// Seed is the seed for choosing among thinned calls; 0 means an arbitrary one.
	Seed uint64
	// Group lets the group of a new file read it, too; without it only the owner may.
	Group bool
	// Now is the clock of sessions and losses, nil means time.Now.
	Now func() time.Time
}

// mode is that of a new file. SQLite gives its log and index, which hold the same, that of the file.
func (o *Options) mode() fs.FileMode {
	if o.Group {
		return 0o640
	}
	return private
}

// private is the mode of a new recording: it tells of other users' programs, and the umask of who records is usually
// made for what everybody may read.
const private = 0o600

// Writer records a session into an SQLite file. It implements store.Writer and
// is used by one goroutine.
type Writer struct {
	path string
	file *inode
	conn *sqlite.Conn
	opt  Options

	ins   inserts
	kinds []rowWriter // of all kinds, in their order

	pageSize int64

	session sessionRow
	threads threads
	args    dictionary[[event.NumArgs]uint64]
	cgroups dictionary[string]
	stacks  dictionary[uint64]
	frames  dictionary[event.Frame]
	framed  map[int64]bool // stacks whose frames are written or queued
	// moreStacks says that the file has stacks that are not in stacks.
	moreStacks bool
	queued     []event.Stack // stacks to write with the next commit
	procs      map[uint32]*processRow
	epochs     []argsEpoch

	series   map[uint64]*series
	recent   [64]*series // direct-mapped cache of series
	sums     map[sumKey]*callSum
	freeSums []*callSum
	gapSums  map[gapKey]*gapSum
	siteSums map[siteKey]*siteSum
	rowIDs   map[uint64]int64 // next free n per second of the roll-up tables
	losses   map[lossKey]*lossRow
	newest   uint64 // latest second seen

	borders  map[uint32]borders // of labels, by process
	thin     thinner
	rng      rand.PCG
	tally    uint32 // weights up to it have their numbers in the table tally
	pending  []pendingCall
	order    []rowOrder
	inTx     bool
	txRows   uint64 // rows that a rollback would lose
	txCalls  uint64 // of these, rows of call
	txPruned uint64 // rows of call deleted
	closed   bool

	outage   outage
	flushed  uint64 // Unix ns, when the last transaction was committed
	lostRows uint64 // see Lost
}

var _ store.Writer = (*Writer)(nil)

// maxPending bounds the calls kept for sorting.
const maxPending = 8192

type pendingCall struct {
	event.Call
	series   *series
	notable  bool
	rest     uint64 // ns, duration of the other Weight-1 calls
	restSize uint64 // their size in total, if mixed
	mixed    bool   // not all asked for the same
}

// Write implements store.Writer.
func (w *Writer) Write(b *store.Batch) error {
	if w.closed {
		return errClosed
	}
	var errs error
	w.count(b, func() {
		if errs == nil {
			errs = w.attempt(w.drain)
		} else {
			w.dropCalls() // what follows is lost, too: its caller tries again later
		}
	})
	if errs == nil {
		errs = w.writeRows(b)
	} else {
		w.dropCalls()
		w.skipKinds(b)
	}
	w.endAllSeries(b)
	return errs
}

// count takes a batch into what is kept in memory. full is called when many calls are pending.
func (w *Writer) count(b *store.Batch, full func()) {
	w.applyLives(b)
	w.describe(b)
	w.divide(b.Labels)
	for i := range b.Calls {
		w.call(&b.Calls[i])
		if len(w.pending) >= maxPending {
			full()
		}
	}
	w.countGaps(b.Gaps)
	for _, l := range b.Losses {
		w.lose(l.Kind, l.Count)
	}
}

// writeRows inserts what comes at low rates, with the rows that are held.
func (w *Writer) writeRows(b *store.Batch) error {
	f := b.Footprint
	if f != nil && f.IsZero() {
		f = nil
	}
	if !hasKinds(b) && f == nil && w.outage.from == 0 {
		return nil
	}
	began := false
	err := w.attempt(func() error {
		began = true
		if err := w.insertKinds(b); err != nil || f == nil {
			return err
		}
		return w.insertFootprint(f)
	})
	if !began {
		w.skipKinds(b)
	}
	return err
}

var errClosed = errors.New("write to a closed recording")

// call counts a call in the roll-ups and decides whether it is stored.
func (w *Writer) call(c *event.Call) {
	s := w.seriesOf(c)
	weight := max(c.Weight, 1)
	off := !c.Ledger.IsZero()
	sec := c.Start / second
	if s.sum == nil || s.sum.second != sec {
		w.roll(s, sec)
	}
	s.sum.add(c, uint64(weight), s.bytesArg, off)
	s.seen++
	s.median.counted(s.seen, &s.sum.hist)
	usual := s.median.value
	if s.tellsSite {
		usual = min(usual, w.countSite(c, s))
	}
	w.session.count(c.Start, c.End(), uint64(weight))
	w.thin.advance(c.End())

	if !s.part.has(c.Start) {
		w.closeGroup(s)
		s.part, s.extent = w.partOf(c.PID, c.Start), extent{}
	}
	notable := isNotable(c, usual, s.seen == 1, off)
	extreme := s.extent.widen(c.Duration)
	if notable || off || s.whole {
		w.thin.kept++
		w.keep(c, s, notable)
		return
	}
	w.thin.seen++
	size := w.thin.size()
	if size == 1 && s.group.n == 0 || extreme {
		w.thin.stored++
		w.keep(c, s, false)
		return
	}
	if s.group.add(c, weight, size, s.bytesArg, &w.rng) {
		w.closeGroup(s)
	}
}

// lifeOfGraph reports whether an operation creates, changes or destroys a graph or a capture. They
// are few and expensive, and all of them are needed to follow a graph.
func lifeOfGraph(op event.Op) bool {
	step := op.GraphStep()
	return step != "" && (op.Role() == event.RoleCapture || strings.HasSuffix(step, "Destroy"))
}

func (w *Writer) keep(c *event.Call, s *series, notable bool) {
	rest := c.Duration * uint64(max(c.Weight, 1)-1)
	w.pending = append(w.pending, pendingCall{Call: *c, series: s, notable: notable, rest: rest})
}

// seriesOf finds the state of a call's thread and operation.
func (w *Writer) seriesOf(c *event.Call) *series {
	nested := c.Depth > 0
	key := seriesKey(c.TID, c.Op, nested)
	slot := &w.recent[(key^key>>16*7)&63]
	if s := *slot; s != nil && s.op == c.Op && s.nested == nested && s.has(c) {
		return s
	}
	s := w.series[key]
	if s == nil || !s.has(c) {
		if s != nil {
			w.closeGroup(s)
		}
		s = w.newSeries(c)
		w.series[key] = s
	}
	*slot = s
	return s
}

// has reports whether a call is of the series' thread.
func (s *series) has(c *event.Call) bool {
	return s.id == c.Thread && s.of.has(c.Start)
}

func (w *Writer) newSeries(c *event.Call) *series {
	g := w.threads.generation(c.Thread, "", c.Start, c.Start)
	t := w.threads.row(g, "")
	if !t.dispatch {
		t.dispatch = true
		w.threads.touch(t)
	}
	s := &series{of: g, thread: t, id: c.Thread, op: c.Op, nested: c.Depth > 0, bytesArg: -1}
	if i := c.Op.Info(); i != nil {
		s.bytesArg = i.BytesArg()
	}
	s.whole, s.tellsSite = lifeOfGraph(c.Op), c.Op.TellsSite()
	return s
}

func (w *Writer) closeGroup(s *series) {
	if s.group.n > 0 {
		w.thin.stored++
		w.pending = append(w.pending, s.group.take(s))
	}
}

func (w *Writer) lose(k event.LossKind, n uint64) {
	if n == 0 {
		return
	}
	key := lossKey{w.lossSecond(), k}
	row := w.losses[key]
	if row == nil {
		row = &lossRow{}
		w.losses[key] = row
	}
	row.count += n
	row.dirty = true
}

// Flush implements store.Writer.
func (w *Writer) Flush(ctx context.Context) error {
	if w.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range w.series {
		w.closeGroup(s)
	}
	return w.attempt(func() error {
		if err := w.drain(); err != nil {
			return err
		}
		if err := w.writeState(); err != nil {
			return err
		}
		if err := w.prune(); err != nil {
			return err
		}
		return w.commit()
	})
}

// attempt runs f inside the transaction and undoes the transaction if it fails: its rows are
// counted as dropped, while dictionaries, roll-ups and rows that are held stay in memory for the next one.
func (w *Writer) attempt(f func() error) error {
	err := w.begin()
	if err == nil {
		err = f()
	}
	if err == nil {
		return nil
	}
	w.failed(err)
	w.lostStored(w.txRows)
	w.rollback()
	w.dropCalls()
	return &store.Unwritten{Why: w.outage.why, Err: fmt.Errorf("write recording: %w", wrap(w.path, err))}
}

func (w *Writer) begin() error {
	if w.inTx {
		return nil
	}
	if w.file.removed() {
		return errRemoved
	}
	if err := w.ins.begin.runStmt(); err != nil {
		return err
	}
	w.inTx = true
	return nil
}

func (w *Writer) commit() error {
	if err := w.ins.commit.runStmt(); err != nil {
		return err
	}
	w.inTx, w.txRows, w.txCalls, w.txPruned = false, 0, 0, 0
	w.committed()
	w.wrote()
	return nil
}

func (w *Writer) rollback() {
	if !w.conn.AutocommitEnabled() {
		// SQLite rolls back by itself when the disk is full.
		_ = w.ins.rollback.runStmt()
	}
	w.session.stored -= w.txCalls
	w.session.pruned -= w.txPruned
	w.inTx, w.txRows, w.txCalls, w.txPruned = false, 0, 0, 0
	w.tally = 0
	for _, k := range w.kinds {
		k.rolledBack()
	}
}

// Close implements store.Writer. It is safe to call twice.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.session.stopped = uint64(w.opt.Now().UnixNano())
	err := w.Flush(context.Background())
	w.closed = true
	return errors.Join(err, w.shut())
}

// shut leaves one self-contained file that can be read from read-only places, unless a reader has
// it open right now.
func (w *Writer) shut() error {
	w.conn.SetBusyTimeout(200 * time.Millisecond)
	_ = exec(w.conn, "pragma wal_checkpoint(truncate)")
	_ = exec(w.conn, "pragma journal_mode = delete") // stays WAL while a reader has it open
	err := w.conn.Close()
	w.file.unlock()
	w.file.release()
	return err
}
