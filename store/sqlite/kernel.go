package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// kernelKind is the names of the kernels that processes launch.
var kernelKind = &kind[store.Kernel]{
	tables: []table{{name: "kernel"}},
	rows:   func(t *store.Tables) *[]store.Kernel { return &t.Kernels },
	hold:   keepEach[store.Kernel],
	insert: func(w *Writer, _ []*boundStmt, k *store.Kernel) error {
		return exec(w.conn, "insert or replace into kernel values (?, ?, ?, ?, ?, ?)",
			w.session.id, int64(k.PID), int64(k.Func), k.Name, k.Symbol, int64(k.Source))
	},
	query:       "select pid, func, name, symbol, source from kernel order by session, pid, func",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Kernel, error) {
		return store.Kernel{
			PID: uint32(s.ColumnInt64(0)), Func: number(s, 1), Name: s.ColumnText(2), Symbol: s.ColumnText(3),
			Source: store.KernelSource(s.ColumnInt64(4)),
		}, nil
	},
}

var kernelLaunchesQuery = `select c.thread, a.a0, sum(coalesce(c.weight, 1)), count(*)
from call c join args a on a.id = c.args
where c.ts between ? and ? and coalesce(c.depth, 0) = 0 and c.op in (` + opsThat(launchesKernel) + `)
group by c.thread, a.a0`

// kernelLaunches adds up how often each thread launched each kernel. Launches within other calls do not count again.
func (r *Reader) kernelLaunches(ctx context.Context, w store.Window) (list []store.KernelLaunches, err error) {
	err = r.optional(ctx, "args", kernelLaunchesQuery, bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(0))
		if err != nil {
			return err
		}
		list = append(list, store.KernelLaunches{
			Thread: t.Thread, Func: number(s, 1), Calls: number(s, 2), Stored: number(s, 3),
		})
		return nil
	})
	return list, err
}

// kernelColumn is the name of the kernel that a call launches; null if it launches none or the name
// is unknown.
const kernelColumn = "(select k.name from kernel k where k.session = t.session and k.pid = t.pid and k.func = a.a0)"
