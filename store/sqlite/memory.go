package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// mainThread is the row of the main thread of a process at a time, which stands for it.
func (w *Writer) mainThread(pid uint32, at uint64) int64 {
	return w.threads.within(event.Thread{PID: pid, TID: pid}, "", 0, at).id
}

// memoryKind is the memory that processes had allocated and not freed.
var memoryKind = &kind[event.Memory]{
	tables:     []table{{name: "memory_second", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.Memory { return &t.Memory },
	statements: []string{"insert into memory_second values (" + values(14) + ")"},
	insert: func(w *Writer, s []*boundStmt, m *event.Memory) error {
		w.session.count(m.At, m.At, 0)
		b := s[0]
		b.set(2, w.mainThread(m.PID, m.At))
		b.set(3, int64(m.Space))
		b.set(4, int64(m.LiveBytes))
		b.set(5, int64(m.LiveCount))
		b.set(6, int64(m.PeakBytes))
		for n, v := range []uint64{m.Allocs, m.Frees, m.Failed, m.Bytes, m.AllocNS, m.FreeNS, m.UnknownFrees, m.Untracked} {
			b.opt(7+n, int64(v))
		}
		_, err := b.runAt(m.At)
		return err
	},
	query: "select * from memory_second where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.Memory, error) {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		i := func(n int) uint64 { return number(s, n) }
		return event.Memory{
			At: i(0), PID: t.PID, Space: event.Space(i(2)), LiveBytes: i(3), LiveCount: i(4), PeakBytes: i(5),
			Allocs: i(6), Frees: i(7), Failed: i(8), Bytes: i(9), AllocNS: i(10), FreeNS: i(11),
			UnknownFrees: i(12), Untracked: i(13),
		}, err
	},
}

// memorySiteKind is the call sites of that memory, when they changed.
var memorySiteKind = &kind[event.MemorySite]{
	tables:     []table{{name: "memory_site", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.MemorySite { return &t.MemorySites },
	statements: []string{"insert into memory_site values (" + values(8) + ")"},
	insert: func(w *Writer, s []*boundStmt, m *event.MemorySite) error {
		w.session.count(m.At, m.At, 0)
		b := s[0]
		b.set(2, w.mainThread(m.PID, m.At))
		b.set(3, int64(m.Space))
		b.set(4, int64(m.Op))
		b.opt(5, w.stackID(m.Stack))
		b.set(6, int64(m.LiveBytes))
		b.set(7, int64(m.LiveCount))
		b.opt(8, int64(m.Oldest))
		_, err := b.runAt(m.At)
		return err
	},
	query: "select * from memory_site where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.MemorySite, error) {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return event.MemorySite{}, err
		}
		i := func(n int) uint64 { return number(s, n) }
		stack, err := r.stackHash(ctx, s.ColumnInt64(4))
		return event.MemorySite{
			At: i(0), PID: t.PID, Space: event.Space(i(2)), Op: event.Op(i(3)), Stack: stack,
			LiveBytes: i(5), LiveCount: i(6), Oldest: i(7),
		}, err
	},
}
