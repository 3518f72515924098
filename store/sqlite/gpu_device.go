package sqlite

import "github.com/ingero-io/ingero/store"

// gpuDeviceKind is what GPUs there are. SQL reads it, and no Reader.
var gpuDeviceKind = &kind[store.GPUDevice]{
	tables: []table{{name: "gpu_device"}},
	rows:   func(b *store.Batch) []store.GPUDevice { return b.GPUDevices },
	insert: func(w *Writer, _ []*boundStmt, d *store.GPUDevice) error {
		return exec(w.conn, "insert or replace into gpu_device values (?, ?, ?, ?, ?, ?)",
			w.session.id, int64(d.GPU), d.Name, d.UUID, d.BusID, d.Driver)
	},
}
