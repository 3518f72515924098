package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// mainThread is the row of a process's main thread, which stands for it.
func (w *Writer) mainThread(pid uint32) int64 {
	return w.threads.get(event.Thread{PID: pid, TID: pid}, "").id
}

func (w *Writer) insertMemory(b *store.Batch) error {
	for i := range b.Memory {
		m, b := &b.Memory[i], w.ins.memory
		w.session.count(m.At, m.At, 0)
		b.set(2, w.mainThread(m.PID))
		b.set(3, int64(m.Space))
		b.set(4, int64(m.LiveBytes))
		b.set(5, int64(m.LiveCount))
		b.set(6, int64(m.PeakBytes))
		for n, v := range []uint64{m.Allocs, m.Frees, m.Failed, m.Bytes, m.AllocNS, m.FreeNS, m.UnknownFrees, m.Untracked} {
			b.opt(7+n, int64(v))
		}
		w.txRows++
		if _, err := b.runAt(m.At); err != nil {
			return err
		}
	}
	for i := range b.MemorySites {
		m, b := &b.MemorySites[i], w.ins.memorySite
		w.session.count(m.At, m.At, 0)
		b.set(2, w.mainThread(m.PID))
		b.set(3, int64(m.Space))
		b.set(4, int64(m.Op))
		b.opt(5, w.stackID(m.Stack))
		b.set(6, int64(m.LiveBytes))
		b.set(7, int64(m.LiveCount))
		b.opt(8, int64(m.Oldest))
		w.txRows++
		if _, err := b.runAt(m.At); err != nil {
			return err
		}
	}
	return nil
}

// Memory implements store.Reader.
func (r *Reader) Memory(ctx context.Context, w store.Window) ([]event.Memory, error) {
	if ok, err := r.has(ctx, "memory_second"); err != nil || !ok {
		return nil, err
	}
	var out []event.Memory
	err := r.rows(ctx, "select * from memory_second where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		out = append(out, event.Memory{
			At: i(0), PID: t.PID, Space: event.Space(i(2)), LiveBytes: i(3), LiveCount: i(4), PeakBytes: i(5),
			Allocs: i(6), Frees: i(7), Failed: i(8), Bytes: i(9), AllocNS: i(10), FreeNS: i(11), UnknownFrees: i(12), Untracked: i(13),
		})
		return err
	})
	return out, err
}

// MemorySites implements store.Reader.
func (r *Reader) MemorySites(ctx context.Context, w store.Window) ([]event.MemorySite, error) {
	if ok, err := r.has(ctx, "memory_site"); err != nil || !ok {
		return nil, err
	}
	var out []event.MemorySite
	err := r.rows(ctx, "select * from memory_site where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		stack, err := r.stackHash(ctx, s.ColumnInt64(4))
		out = append(out, event.MemorySite{
			At: i(0), PID: t.PID, Space: event.Space(i(2)), Op: event.Op(i(3)), Stack: stack, LiveBytes: i(5), LiveCount: i(6), Oldest: i(7),
		})
		return err
	})
	return out, err
}
