package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// hostMemoryKind is how processes used the host's memory.
var hostMemoryKind = &kind[event.HostMemory]{
	tables:     []table{{name: "host_memory", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.HostMemory { return &t.HostMemory },
	statements: []string{"insert into host_memory values (" + values(7) + ")"},
	insert: func(w *Writer, s []*boundStmt, m *event.HostMemory) error {
		b := s[0]
		b.set(2, w.mainThread(m.PID, m.At))
		for n, v := range []uint64{m.MinorFaults, m.MajorFaults, m.RSS, m.Swap, m.Private} {
			b.opt(3+n, int64(v))
		}
		_, err := b.runAt(m.At)
		return err
	},
	query: "select ts, thread, minor, major, rss, swap, private from host_memory where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.HostMemory, error) {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		return event.HostMemory{
			At: number(s, 0), PID: t.PID, MinorFaults: number(s, 2), MajorFaults: number(s, 3),
			RSS: number(s, 4), Swap: number(s, 5), Private: number(s, 6),
		}, err
	},
}
