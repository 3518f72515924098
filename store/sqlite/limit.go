package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// limitKind is the memory limits of processes. Its column cgroup is a text.
var limitKind = &kind[store.MemoryLimit]{
	tables: []table{{name: "memory_limit", refs: map[string]string{"cgroup": ""}}},
	rows:   func(t *store.Tables) *[]store.MemoryLimit { return &t.Limits },
	hold:   keepEach[store.MemoryLimit],
	insert: func(w *Writer, _ []*boundStmt, l *store.MemoryLimit) error {
		return exec(w.conn, "insert or replace into memory_limit values (?, ?, ?, ?)",
			w.session.id, int64(l.PID), l.Cgroup, int64(l.Bytes))
	},
	query:       "select pid, cgroup, bytes from memory_limit order by session, pid",
	ofProcesses: true,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.MemoryLimit, error) {
		return store.MemoryLimit{PID: uint32(s.ColumnInt64(0)), Cgroup: s.ColumnText(1), Bytes: number(s, 2)}, nil
	},
}
