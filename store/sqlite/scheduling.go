package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// schedulingKind is how the scheduler treats threads.
var schedulingKind = &kind[store.Scheduling]{
	tables: []table{{name: "scheduling"}},
	rows:   func(t *store.Tables) *[]store.Scheduling { return &t.Scheduling },
	hold:   keepEach[store.Scheduling],
	insert: func(w *Writer, _ []*boundStmt, s *store.Scheduling) error {
		return exec(w.conn, "insert or replace into scheduling values (?, ?, ?, ?, ?, ?, ?, ?, ?)", w.session.id,
			int64(s.PID), int64(s.TID), int64(s.Policy), int64(s.Nice), int64(s.Realtime), nullText(s.CPUs),
			nullText(s.Before), nullInt(s.Changed))
	},
	query:       "select * from scheduling order by session, pid, tid",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Scheduling, error) {
		v := store.Scheduling{
			Thread: event.Thread{PID: uint32(s.ColumnInt64(1)), TID: uint32(s.ColumnInt64(2))},
			Policy: store.Policy(s.ColumnInt64(3)), Nice: int8(s.ColumnInt64(4)), Realtime: uint8(s.ColumnInt64(5)),
		}
		if s.ColumnCount() > 6 { // else of an older schema
			v.CPUs = s.ColumnText(6)
		}
		if s.ColumnCount() > 8 {
			v.Before, v.Changed = s.ColumnText(7), number(s, 8)
		}
		return v, nil
	},
}
