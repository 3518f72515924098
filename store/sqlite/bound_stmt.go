package sqlite

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
)

// boundStmt is an insert statement that remembers its parameters: SQLite keeps
// them across executions, and binding only what changed halves the cost of a
// row.
type boundStmt struct {
	stmt *sqlite.Stmt
	have []bound

	asked, given uint64 // by runAt: the time of the last row, and its key
}

type bound struct {
	value int64
	kind  uint8 // 0 not bound yet, 1 null, 2 integer
}

func newBinder(c *sqlite.Conn, query string) (*boundStmt, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	return &boundStmt{stmt: s, have: make([]bound, s.BindParamCount()+1)}, nil
}

// set binds parameter i, counted from 1.
func (b *boundStmt) set(i int, v int64) {
	if h := (bound{v, 2}); b.have[i] != h {
		b.have[i] = h
		b.stmt.BindInt64(i, v)
	}
}

func (b *boundStmt) null(i int) {
	if b.have[i].kind != 1 {
		b.have[i] = bound{0, 1}
		b.stmt.BindNull(i)
	}
}

// opt binds null for zero.
func (b *boundStmt) opt(i int, v int64) {
	if v == 0 {
		b.null(i)
		return
	}
	b.set(i, v)
}

// text is for values that seldom repeat.
func (b *boundStmt) text(i int, v string) {
	b.have[i] = bound{}
	b.stmt.BindText(i, v)
}

// optText binds null for the empty text.
func (b *boundStmt) optText(i int, v string) {
	if v == "" {
		b.null(i)
		return
	}
	b.text(i, v)
}

func (b *boundStmt) flag(i int, v bool) {
	if v {
		b.set(i, 1)
		return
	}
	b.null(i)
}

// ledger binds ledgerColumns from parameter i on.
func (b *boundStmt) ledger(i int, l *event.Ledger) {
	for c, ns := range l.NS {
		b.opt(i+c, int64(ns))
	}
	b.opt(i+int(event.NumClasses), int64(l.Voluntary))
	b.opt(i+int(event.NumClasses)+1, int64(l.Involuntary))
}

func (b *boundStmt) runStmt() error {
	_, err := b.stmt.Step()
	if err != nil {
		return err // Step has reset the statement
	}
	return b.stmt.Reset()
}

// maxBump bounds the search for a free nanosecond.
const maxBump = 1 << 20

var errCrowded = errors.New("more than a million rows start at the same nanosecond")

// runAt inserts a row with key ts, its first parameter, or the next free one,
// and returns the key.
func (b *boundStmt) runAt(ts uint64) (uint64, error) {
	if at := ts; at == b.asked && b.given >= at { // rows of the same time come one after the other
		ts = b.given + 1
	} else {
		b.asked = at
	}
	for range maxBump {
		b.set(1, int64(ts))
		err := b.runStmt()
		if sqlite.ErrCode(err) != sqlite.ResultConstraintPrimaryKey {
			b.given = ts
			return ts, err
		}
		ts++
	}
	return ts, errCrowded
}

// setThread binds a thread's row, null for an unknown thread.
func (w *Writer) setThread(b *boundStmt, i int, t event.Thread, comm string, at uint64) {
	if t.PID == 0 {
		b.null(i)
	} else {
		b.set(i, w.threads.get(t, comm, at).id)
	}
}
