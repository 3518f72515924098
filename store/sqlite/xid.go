package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// xidKind is errors of GPUs. An error whose nanosecond is taken moves to the next free one.
var xidKind = &kind[store.Xid]{
	tables: []table{{name: "gpu_xid", machine: true}},
	rows:   func(t *store.Tables) *[]store.Xid { return &t.Xids },
	hold:   keepEach[store.Xid],
	insert: func(w *Writer, _ []*boundStmt, x *store.Xid) error {
		w.session.count(x.At, x.At, 0) // a recording may begin or end with it
		var gpu, name any              // null
		if x.GPU >= 0 {
			gpu = int64(x.GPU)
		}
		if n := x.Name(); n != "" {
			name = n
		}
		return exec(w.conn, `insert into gpu_xid
			select max(?1, coalesce(1 + (select max(ts) from gpu_xid where ts >= ?1), 0)), ?2, ?3, ?4, ?5`,
			int64(x.At), gpu, int64(x.Code), name, w.session.id)
	},
	query: "select ts, gpu, xid from gpu_xid where ts between ? and ? order by ts",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Xid, error) {
		x := store.Xid{At: number(s, 0), GPU: -1, Code: uint32(s.ColumnInt64(2))}
		if !s.ColumnIsNull(1) {
			x.GPU = int(s.ColumnInt64(1))
		}
		return x, nil
	},
}
