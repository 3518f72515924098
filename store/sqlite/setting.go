package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// settingKind is the settings of the machine and of processes. A setting holds until the next one, so that rows are
// kept, and all are read.
var settingKind = &kind[store.Setting]{
	tables: []table{{name: "setting"}},
	rows:   func(t *store.Tables) *[]store.Setting { return &t.Settings },
	hold:   keepEach[store.Setting],
	insert: func(w *Writer, _ []*boundStmt, s *store.Setting) error {
		return exec(w.conn, "insert or replace into setting values (?, ?, ?, ?, ?)", w.session.id, int64(s.PID), s.Name,
			int64(s.At), nullText(s.Value))
	},
	view: `create view settings as
select t.ts as timestamp, nullif(t.pid, 0) as pid,
  (select n.name from process_names n where n.pid = t.pid) as process, t.name, t.value,
  s.node
from setting t join session s on s.id = t.session;`,
	query:       "select ts, pid, name, value from setting order by ts, pid, name",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Setting, error) {
		return store.Setting{
			At: number(s, 0), PID: uint32(number(s, 1)), Name: s.ColumnText(2), Value: s.ColumnText(3),
		}, nil
	},
}
