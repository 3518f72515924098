package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// deviceKind is the names of block devices.
var deviceKind = &kind[event.DeviceName]{
	tables: []table{{name: "device"}},
	rows:   func(t *store.Tables) *[]event.DeviceName { return &t.Devices },
	hold:   keepEach[event.DeviceName],
	insert: func(w *Writer, _ []*boundStmt, d *event.DeviceName) error {
		return exec(w.conn, "insert or replace into device values (?, ?, ?)", w.session.id, int64(d.Device), d.Name)
	},
	query: "select dev, name from device order by session, dev",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (event.DeviceName, error) {
		return event.DeviceName{Device: event.Device(s.ColumnInt64(0)), Name: s.ColumnText(1)}, nil
	},
}
