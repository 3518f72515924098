package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// snapshotKind is the state of the machine, each second.
var snapshotKind = &kind[store.Snapshot]{
	tables: []table{{name: "snapshot", initial: true, prune: "ts", machine: true}},
	rows:   func(t *store.Tables) *[]store.Snapshot { return &t.Snapshots },
	insert: func(w *Writer, _ []*boundStmt, s *store.Snapshot) error {
		p := &s.Pressure
		return exec(w.conn, "insert or replace into snapshot values ("+values(16)+")",
			int64(s.At), s.CPUPct, s.MemPct, int64(s.MemAvailableMB), int64(s.SwapMB), s.Load, s.StealPct,
			p.CPU, p.Memory, p.MemoryFull, p.IO, p.IOFull, w.session.id,
			int64(s.SwapIn), int64(s.SwapOut), bytesOrNull(string(s.CPUs)))
	},
	query: "select * from snapshot where ts between ? and ? order by ts",
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.Snapshot, error) {
		n := store.Snapshot{
			At: number(s, 0), CPUPct: s.ColumnFloat(1), MemPct: s.ColumnFloat(2),
			MemAvailableMB: number(s, 3), SwapMB: number(s, 4), Load: s.ColumnFloat(5), StealPct: s.ColumnFloat(6),
		}
		if s.ColumnCount() > 7 { // else of an older schema
			n.Pressure = store.Pressure{
				CPU: s.ColumnFloat(7), Memory: s.ColumnFloat(8), MemoryFull: s.ColumnFloat(9),
				IO: s.ColumnFloat(10), IOFull: s.ColumnFloat(11),
			}
		}
		if s.ColumnCount() > 13 { // the same
			n.SwapIn, n.SwapOut = number(s, 13), number(s, 14)
		}
		if s.ColumnCount() > 15 { // the same
			b := make([]byte, s.ColumnLen(15))
			s.ColumnBytes(15, b)
			n.CPUs = store.CPUBusy(b)
		}
		return n, nil
	},
}

// bytesOrNull is the value for a blob column.
func bytesOrNull(s string) any {
	if s == "" {
		return nil
	}
	return []byte(s)
}
