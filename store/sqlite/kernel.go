package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertKernel(k *store.Kernel) error {
	w.txRows++
	return exec(w.conn, "insert or replace into kernel values (?, ?, ?, ?, ?, ?)",
		w.session.id, int64(k.PID), int64(k.Func), k.Name, k.Symbol, int64(k.Source))
}

// Kernels implements store.Reader.
func (r *Reader) Kernels(ctx context.Context) ([]store.Kernel, error) {
	var out []store.Kernel
	const query = "select pid, func, name, symbol, source from kernel order by session, pid, func"
	err := r.optional(ctx, "kernel", query, nil, func(s *sqlite.Stmt) error {
		out = append(out, store.Kernel{
			PID: uint32(s.ColumnInt64(0)), Func: uint64(s.ColumnInt64(1)), Name: s.ColumnText(2), Symbol: s.ColumnText(3),
			Source: store.KernelSource(s.ColumnInt64(4)),
		})
		return nil
	})
	return out, err
}

// kernelColumn is what the kernel is called that a call launches; null if it
// launches none or nobody knows.
const kernelColumn = "(select k.name from kernel k where k.session = t.session and k.pid = t.pid and k.func = a.a0)"
