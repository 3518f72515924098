package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// stallKind is stalls of CPUs. If two CPUs stall in the same nanosecond, one of them is kept.
var stallKind = &kind[event.Stall]{
	tables:     []table{{name: "stall", initial: true, prune: "ts", machine: true}},
	rows:       func(t *store.Tables) *[]event.Stall { return &t.Stalls },
	statements: []string{"insert or ignore into stall values (?, ?, ?, ?)"},
	insert: func(w *Writer, s []*boundStmt, v *event.Stall) error {
		b := s[0]
		b.set(1, int64(v.Start))
		b.set(2, int64(v.Duration))
		b.set(3, int64(v.CPU))
		b.set(4, w.session.id)
		return b.runStmt()
	},
	view: `create view cpu_stalls as
select x.ts as timestamp, x.dur as duration_ns, x.cpu, s.node from stall x ` +
		"left join session s on s.id = coalesce(x.session, (select max(id) from session));",
	query: "select ts, dur, cpu from stall where ts between ? and ? order by ts",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (event.Stall, error) {
		return event.Stall{Start: number(s, 0), Duration: number(s, 1), CPU: uint16(s.ColumnInt64(2))}, nil
	},
}
