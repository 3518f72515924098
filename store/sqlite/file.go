package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// fileKind is the files that threads waited for.
var fileKind = &kind[event.File]{
	tables: []table{{name: "file"}},
	rows:   func(t *store.Tables) *[]event.File { return &t.Files },
	hold:   keepEach[event.File],
	insert: func(w *Writer, _ []*boundStmt, f *event.File) error {
		return exec(w.conn, "insert or replace into file values (?, ?, ?, ?)",
			w.session.id, int64(f.PID), int64(f.Inode), f.Path)
	},
	query:       "select pid, inode, path from file order by session, pid, inode",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (event.File, error) {
		return event.File{PID: uint32(s.ColumnInt64(0)), Inode: number(s, 1), Path: s.ColumnText(2)}, nil
	},
}
