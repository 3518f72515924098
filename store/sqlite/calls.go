package sqlite

import (
	"cmp"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// The columns of a call, in the order of the table. Most calls are narrow: they have no return
// value, stack or weight.
const (
	wideRow   = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
	wide      = 11 // parameters
	narrowRow = "?, ?, ?, ?, null, ?, ?, ?, null, null, null"
	narrow    = 7
)

// callChunk is how many calls one statement inserts: starting and ending a
// statement costs about as much as the row. More at a time gain nothing.
const callChunk = 32

// insertChunkOf is a statement that inserts callChunk calls. It keeps the rows before the first one
// whose key is taken. A select inserts rows directly; rows of a values clause are copied first.
func insertChunkOf(row string) string {
	row = "select " + row
	return "insert or fail into call " + row + strings.Repeat(" union all "+row, callChunk-1)
}

// rowOrder is a pending call and the key it gets.
type rowOrder struct {
	ts    uint64
	index int32
}

// drain inserts the pending calls in order of start: appending to the end of the table is cheapest
// and fills its pages.
func (w *Writer) drain() error {
	w.order = w.order[:0]
	for i := range w.pending {
		if n := w.pending[i].Weight; n > w.tally {
			if err := w.extendTally(n); err != nil {
				return err
			}
		}
		w.order = append(w.order, rowOrder{w.pending[i].Start, int32(i)})
	}
	byStart := func(a, b rowOrder) int { return cmp.Compare(a.ts, b.ts) }
	if !slices.IsSortedFunc(w.order, byStart) {
		slices.SortFunc(w.order, byStart)
	}
	var free uint64 // the first key that is free
	for rows := w.order; len(rows) > 0; {
		for i := range rows[:min(len(rows), callChunk)] {
			rows[i].ts = max(rows[i].ts, free)
			free = rows[i].ts + 1
		}
		n, err := w.insertCalls(rows)
		if err != nil {
			return err
		}
		free = rows[n-1].ts + 1
		rows = rows[n:]
	}
	n := uint64(len(w.pending)) // only now: a failure before this counts them as pending
	w.txRows += n
	w.txCalls += n
	w.session.stored += n
	w.pending = w.pending[:0]
	return nil
}

// extendTally makes the table tally hold all numbers below n: calls that come with a weight may
// stand for more than maxGroup.
func (w *Writer) extendTally(n uint32) error {
	err := exec(w.conn, growTally, int64(n))
	if err == nil {
		w.tally = max(n, maxGroup)
	}
	return err
}

// growTally is the statement that adds the numbers below a weight to the table tally.
const growTally = `with recursive x (n) as (
	select max(n) + 1 from tally where (select max(n) + 1 from tally) < ?1 union all select n + 1 from x where n + 1 < ?1)
insert into tally select n from x where n is not null`

// insertCalls inserts as many of the first rows as one statement can, with their details. It
// returns how many, at least one unless it fails.
func (w *Writer) insertCalls(rows []rowOrder) (n int, err error) {
	if len(rows) >= callChunk {
		n, err = w.insertChunk(rows[:callChunk])
	}
	if err == nil && n == 0 {
		n, err = 1, w.insertCall(&rows[0])
	}
	if err != nil {
		return 0, err
	}
	for _, o := range rows[:n] {
		if err := w.insertDetail(o.ts, &w.pending[o.index]); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// insertChunk inserts callChunk rows up to the first one whose key is taken, and returns how many.
// The keys must ascend.
func (w *Writer) insertChunk(rows []rowOrder) (int, error) {
	b, width := w.ins.narrowCalls, narrow
	for _, o := range rows {
		if w.pending[o.index].isWide() {
			b, width = w.ins.wideCalls, wide
			break
		}
	}
	for i, o := range rows {
		b.set(i*width+1, int64(o.ts))
		w.bindCall(b, i*width, width, &w.pending[o.index])
	}
	err := b.runStmt()
	if sqlite.ErrCode(err) == sqlite.ResultConstraintPrimaryKey {
		return w.conn.Changes(), nil
	}
	return len(rows), err
}

// insertCall inserts a row under its key or the next free one.
func (w *Writer) insertCall(o *rowOrder) (err error) {
	c := &w.pending[o.index]
	b, width := w.ins.narrowCall, narrow
	if c.isWide() {
		b, width = w.ins.wideCall, wide
	}
	w.bindCall(b, 0, width, c)
	o.ts, err = b.runAt(o.ts)
	return err
}

func (c *pendingCall) isWide() bool { return c.Ret != 0 || c.Stack != 0 || c.Weight > 1 }

// bindCall binds all columns of a call but the key, which is parameter at+1.
func (w *Writer) bindCall(b *boundStmt, at, width int, c *pendingCall) {
	b.set(at+2, c.series.thread.id)
	b.set(at+3, int64(c.Op))
	b.set(at+4, int64(c.Duration))
	if width == wide {
		b.opt(at+5, int64(c.Ret))
		b.opt(at+9, w.stackID(c.Stack))
		if c.Weight > 1 {
			b.set(at+10, int64(c.Weight))
			b.set(at+11, int64(c.rest))
		} else {
			b.null(at + 10)
			b.null(at + 11)
		}
		at++
	}
	b.opt(at+5, w.argsID(&c.Args))
	if c.GPU == event.NoGPU {
		b.null(at + 6)
	} else {
		b.set(at+6, int64(c.GPU))
	}
	b.opt(at+7, int64(c.Depth))
}

// insertDetail inserts the rows of other tables for the call with key ts.
func (w *Writer) insertDetail(ts uint64, c *pendingCall) error {
	if c.notable {
		w.ins.notable.set(1, int64(ts))
		if err := w.ins.notable.runStmt(); err != nil {
			return err
		}
	}
	if c.mixed {
		w.ins.restSize.set(1, int64(ts))
		w.ins.restSize.set(2, int64(c.restSize))
		if err := w.ins.restSize.runStmt(); err != nil {
			return err
		}
	}
	if c.Ledger.IsZero() {
		return nil
	}
	w.ins.ledger.set(1, int64(ts))
	w.ins.ledger.ledger(2, &c.Ledger)
	return w.ins.ledger.runStmt()
}

// endSeries ends what is counted of a thread.
func (w *Writer) endSeries(id event.Thread) {
	for key, s := range w.series {
		if s.id == id {
			w.closeGroup(s)
			delete(w.series, key)
		}
	}
	clear(w.recent[:])
}

// applyLives tells apart the threads that had the same ids in a batch, before records of it are written.
func (w *Writer) applyLives(b *store.Batch) {
	reused := slices.SortedFunc(slices.Values(b.Reused), func(x, y store.Reuse) int { return cmp.Compare(x.At, y.At) })
	for i := range b.Lives {
		l := &b.Lives[i]
		for len(reused) > 0 && reused[0].At <= l.At {
			w.reused(reused[0])
			reused = reused[1:]
		}
		switch l.Kind {
		case event.LifeExit:
			w.threads.end(l.Thread, l.At)
		case event.LifeFork:
			w.beginThread(l.Thread, l.At, 0)
		}
	}
	for _, u := range reused {
		w.reused(u)
	}
}

// reused tells apart the threads of a process whose end nobody reported.
func (w *Writer) reused(u store.Reuse) {
	w.beginThread(event.Thread{PID: u.PID, TID: u.PID}, u.At, u.At)
}

func (w *Writer) beginThread(id event.Thread, at, exit uint64) {
	if w.threads.begin(id, at, exit) {
		w.endSeries(id)
	}
}

// endAllSeries ends what is counted of the threads that ended in a batch.
func (w *Writer) endAllSeries(b *store.Batch) {
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeExit {
			w.endSeries(l.Thread)
		}
	}
}
