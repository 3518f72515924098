package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// gpuDeviceKind is what GPUs there are.
var gpuDeviceKind = &kind[store.GPUDevice]{
	tables: []table{{name: "gpu_device"}},
	rows:   func(t *store.Tables) *[]store.GPUDevice { return &t.GPUDevices },
	hold:   keepEach[store.GPUDevice],
	insert: func(w *Writer, _ []*boundStmt, d *store.GPUDevice) error {
		var node any // null
		if d.Node >= 0 {
			node = int64(d.Node)
		}
		return exec(w.conn, "insert or replace into gpu_device values (?, ?, ?, ?, ?, ?, ?)",
			w.session.id, int64(d.GPU), d.Name, d.UUID, d.BusID, d.Driver, node)
	},
	query: "select * from gpu_device order by session, gpu",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.GPUDevice, error) {
		d := store.GPUDevice{
			GPU: int(s.ColumnInt64(1)), Name: s.ColumnText(2), UUID: s.ColumnText(3), BusID: s.ColumnText(4),
			Driver: s.ColumnText(5), Node: -1,
		}
		if s.ColumnCount() > 6 && !s.ColumnIsNull(6) { // else of an older schema, or not known
			d.Node = int(s.ColumnInt64(6))
		}
		return d, nil
	},
}
