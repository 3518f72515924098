package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// libraryKind is the library files that traced processes use. The view libraries has those of
// footprints.
var libraryKind = &kind[store.Library]{
	tables: []table{{name: "library"}},
	rows:   func(t *store.Tables) *[]store.Library { return &t.Libraries },
	hold:   keepEach[store.Library],
	insert: func(w *Writer, _ []*boundStmt, l *store.Library) error {
		return exec(w.conn, "insert or ignore into library values (?, ?, ?, ?, ?, ?, ?, ?)", w.session.id,
			int64(l.PID), l.Path, l.BuildID, int64(l.Size), int64(l.At), l.Name, nullText(l.Version))
	},
	query:       "select seen, pid, name, path, version, build_id, size from library order by session, pid, seen, path",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Library, error) {
		return store.Library{
			At: number(s, 0), PID: uint32(s.ColumnInt64(1)), Name: s.ColumnText(2), Path: s.ColumnText(3),
			Version: s.ColumnText(4), BuildID: s.ColumnText(5), Size: number(s, 6),
		}, nil
	},
	view: `create view gpu_libraries as
select l.seen as timestamp, s.node, l.pid,
  (select p.name from process p where p.session = l.session and p.pid = l.pid order by p.id desc limit 1) as process,
  l.name, l.version, nullif(l.build_id, '') as build_id, l.path, nullif(l.size, 0) as size
from library l join session s on s.id = l.session;`,
}
