package sqlite

import (
	"context"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertReclaim(r *event.Reclaim) error {
	w.session.count(r.Start, r.End(), 0)
	b := w.ins.reclaim
	b.set(2, w.threads.get(r.Thread, "").id)
	b.set(3, int64(r.Duration))
	b.set(4, int64(r.NS))
	b.set(5, int64(r.Kind))
	b.set(6, int64(r.Parts))
	w.txRows++
	_, err := b.runAt(r.Start)
	return err
}

// insertSocket adds what the interval with the key ts waited for.
func (w *Writer) insertSocket(ts uint64, s *event.Socket) error {
	b := w.ins.socket
	b.set(1, int64(ts))
	b.set(2, int64(s.Kind))
	b.opt(3, int64(s.LocalPort))
	b.opt(4, int64(s.RemotePort))
	if s.RemotePort == 0 {
		b.null(5)
	} else {
		b.text(5, s.Addr())
	}
	b.opt(6, int64(s.Peer))
	b.flag(7, s.Bound)
	w.txRows++
	return b.run()
}

// insertStall inserts a stall of a CPU. Two CPUs may stall in the same nanosecond:
// which one matters less than that.
func (w *Writer) insertStall(s *event.Stall) error {
	w.txRows++
	return exec(w.conn, "insert or ignore into stall values (?, ?, ?, ?)", int64(s.Start), int64(s.Duration), int64(s.CPU), w.session.id)
}

func (w *Writer) insertSnapshot(s *store.Snapshot) error {
	w.txRows++
	return exec(w.conn, "insert or replace into snapshot values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(s.At), s.CPUPct, s.MemPct, int64(s.MemAvailableMB), int64(s.SwapMB), s.Load, s.StealPct,
		s.Pressure.CPU, s.Pressure.Memory, s.Pressure.MemoryFull, s.Pressure.IO, s.Pressure.IOFull, w.session.id,
		int64(s.SwapIn), int64(s.SwapOut), bytesOrNull(string(s.CPUs)))
}

func (w *Writer) insertLimit(l *store.MemoryLimit) error {
	w.txRows++
	return exec(w.conn, "insert or replace into memory_limit values (?, ?, ?, ?)", w.session.id, int64(l.PID), l.Cgroup, int64(l.Bytes))
}

// MemoryLimits implements store.Reader.
func (r *Reader) MemoryLimits(ctx context.Context) ([]store.MemoryLimit, error) {
	var out []store.MemoryLimit
	const query = "select pid, cgroup, bytes from memory_limit order by session, pid"
	err := r.optional(ctx, "memory_limit", query, nil, func(s *sqlite.Stmt) error {
		out = append(out, store.MemoryLimit{PID: uint32(s.ColumnInt64(0)), Cgroup: s.ColumnText(1), Bytes: uint64(s.ColumnInt64(2))})
		return nil
	})
	return out, err
}

// optional is rows for a table that recordings of older schemas lack: it has no
// rows there.
func (r *Reader) optional(ctx context.Context, table, query string, args []int64, f func(*sqlite.Stmt) error) error {
	there := false
	err := r.rows(ctx, "select 1 from sqlite_schema where type = 'table' and name = '"+table+"'", nil, func(*sqlite.Stmt) error {
		there = true
		return nil
	})
	if err != nil || !there {
		return err
	}
	return r.rows(ctx, query, args, f)
}

// Reclaims implements store.Reader.
func (r *Reader) Reclaims(ctx context.Context, w store.Window) ([]event.Reclaim, error) {
	var out []event.Reclaim
	const query = "select ts, thread, dur, ns, kind, parts from reclaim where ts between ? and ? order by ts"
	err := r.optional(ctx, "reclaim", query, bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		out = append(out, event.Reclaim{
			Start: uint64(s.ColumnInt64(0)), Thread: t.Thread, Duration: uint64(s.ColumnInt64(2)), NS: uint64(s.ColumnInt64(3)),
			Kind: event.ReclaimKind(s.ColumnInt64(4)), Parts: uint32(s.ColumnInt64(5)),
		})
		return err
	})
	return out, err
}

// readSocket reads what an interval waited for from column i on: nothing, if they are null.
func readSocket(s *sqlite.Stmt, i int) event.Socket {
	k := event.Socket{
		Kind: event.SocketKind(s.ColumnInt64(i)), LocalPort: uint16(s.ColumnInt64(i + 1)), RemotePort: uint16(s.ColumnInt64(i + 2)),
		Peer: uint32(s.ColumnInt64(i + 4)), Bound: s.ColumnInt64(i+5) != 0,
	}
	if s.ColumnType(i+3) == sqlite.TypeText {
		if a, err := netip.ParseAddr(s.ColumnText(i + 3)); err == nil {
			k.Remote = a.As16()
		}
	}
	return k
}

// bytesOrNull is what a blob column gets.
func bytesOrNull(s string) any {
	if s == "" {
		return nil
	}
	return []byte(s)
}
