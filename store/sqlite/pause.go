package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// pauseKind is the stretches of time in which nothing could be written. The writer makes its rows itself: see
// outage.
var pauseKind = &kind[store.Pause]{
	tables: []table{{name: "pause"}},
	view: `create view pauses as
select p.ts as timestamp, s.node, p.until, p.until - p.ts as duration_ns, p.why
from pause p join session s on s.id = p.session;`,
	query: "select ts, until, why from pause where until >= ?1 and ts <= ?2 order by ts",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Pause, error) {
		return store.Pause{From: number(s, 0), To: number(s, 1), Why: s.ColumnText(2)}, nil
	},
}
