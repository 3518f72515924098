package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// gpuProcessKind is what processes have of GPUs' memory, when it changed.
var gpuProcessKind = &kind[store.GPUProcess]{
	tables: []table{{name: "gpu_process", prune: "ts"}},
	rows:   func(t *store.Tables) *[]store.GPUProcess { return &t.GPUMemory },
	hold:   keepEach[store.GPUProcess],
	insert: func(w *Writer, _ []*boundStmt, p *store.GPUProcess) error {
		var bytes any // null
		if p.Known {
			bytes = int64(p.Bytes)
		}
		return exec(w.conn, "insert or replace into gpu_process values (?, ?, ?, ?, ?)",
			int64(p.At), int64(p.GPU), int64(p.PID), bytes, w.session.id)
	},
	query: "select ts, gpu, pid, bytes from gpu_process where ts between ? and ? order by ts, gpu, pid",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.GPUProcess, error) {
		return store.GPUProcess{
			At: number(s, 0), GPU: int(s.ColumnInt64(1)), PID: uint32(s.ColumnInt64(2)),
			Bytes: number(s, 3), Known: !s.ColumnIsNull(3),
		}, nil
	},
}
