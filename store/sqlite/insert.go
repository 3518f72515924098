package sqlite

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
)

// inserts are the statements of transactions, calls, roll-ups and dictionaries. Those of other records
// are with their kinds.
type inserts struct {
	begin, commit, rollback     *boundStmt
	narrowCall, narrowCalls     *boundStmt
	wideCall, wideCalls         *boundStmt
	notable, ledger, args       *boundStmt
	restSize                    *boundStmt
	callSecond, gapSecond, loss *boundStmt
	siteSecond                  *boundStmt
}

// values is "?, ?, …" with n places.
func values(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

const ledgerWidth = int(event.NumClasses) + 2

func (i *inserts) prepare(c *sqlite.Conn) error {
	for _, s := range []struct {
		to    **boundStmt
		query string
	}{
		{&i.begin, "begin immediate"},
		{&i.commit, "commit"},
		{&i.rollback, "rollback"},
		{&i.narrowCall, "insert into call values (" + narrowRow + ")"},
		{&i.wideCall, "insert into call values (" + wideRow + ")"},
		{&i.narrowCalls, insertChunkOf(narrowRow)},
		{&i.wideCalls, insertChunkOf(wideRow)},
		{&i.notable, "insert or replace into notable values (?)"},
		{&i.restSize, "insert or replace into rest_size values (?, ?)"},
		{&i.ledger, "insert or replace into call_ledger (ts, " + ledgerColumns + ") values (" + values(1+ledgerWidth) + ")"},
		{&i.callSecond, "insert or replace into call_second (id, thread, op, calls, errors, sum, max, bytes, first, last, " +
			ledgerColumns + ", hist, nested) values (" + values(12+ledgerWidth) + ")"},
		{&i.gapSecond, "insert or replace into gap_second (id, thread, gaps, sum, " + ledgerColumns + ") values (" +
			values(4+ledgerWidth) + ")"},
		{&i.siteSecond, "insert or replace into site_second values (" + values(8) + ")"},
		{&i.args, "insert or replace into args values (" + values(5) + ")"},
		{&i.loss, "insert or replace into loss values (?, ?, ?, ?)"},
	} {
		b, err := newBinder(c, s.query)
		if err != nil {
			return err
		}
		*s.to = b
	}
	return nil
}

// maxArgs bounds the dictionary of arguments in memory.
const maxArgs = 1 << 14

func (w *Writer) argsID(a *[event.NumArgs]uint64) int64 {
	if *a == [event.NumArgs]uint64{} {
		return 0
	}
	if len(w.args.ids) >= maxArgs {
		w.startEpoch()
	}
	return w.args.id(*a)
}

// What is known without asking the file is bounded: programs whose addresses differ each time that they are started
// have ever new stacks and frames, and each container has a control group of its own.
const (
	knownStacks  = 1 << 12
	knownFrames  = 1 << 12
	knownCgroups = 1 << 10
)

// stackID is the id of a stack; 0 if it has none, or if the file cannot be asked.
func (w *Writer) stackID(hash uint64) int64 {
	if hash == 0 {
		return 0
	}
	if _, ok := w.stacks.ids[hash]; !ok && w.moreStacks {
		id, err := queryInt(w.conn, "select id from stack where hash = ?", int64(hash))
		if err != nil {
			return 0
		}
		if id != 0 {
			w.stacks.ids[hash] = id
		}
	}
	return w.stacks.id(hash)
}

// forgetValues forgets stacks, frames and control groups, if there are many. All of them are on disk.
func (w *Writer) forgetValues() {
	if len(w.stacks.ids) > knownStacks {
		w.stacks.forget()
		clear(w.framed)
		w.moreStacks = true
	}
	w.frames.shed(knownFrames)
	w.cgroups.shed(knownCgroups)
}
