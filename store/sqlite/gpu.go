package sqlite

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// gpuColumns are the values of a reading, as store.GPUColumn numbers them; the first
// olderColumns of them were there before NVML was read.
const (
	gpuColumns = "temp, clock, max_clock, util, reasons, mem, mem_total, mem_util, mem_clock, power, power_limit, " +
		"ecc_corrected, ecc_uncorrected, ecc_corrected_ever, ecc_uncorrected_ever, mig"
	olderColumns = 7
)

// gpuKind is readings of GPUs.
var gpuKind = &kind[store.GPUSnapshot]{
	tables: []table{{name: "gpu_snapshot", prune: "ts", machine: true}},
	rows:   func(t *store.Tables) *[]store.GPUSnapshot { return &t.GPUs },
	statements: []string{
		"insert into gpu_snapshot (ts, gpu, " + gpuColumns + ", session) values (" + values(3+int(store.NumGPUColumns)) + ")",
	},
	insert: func(w *Writer, s []*boundStmt, g *store.GPUSnapshot) error {
		b := s[0]
		b.set(2, int64(g.GPU))
		for c, v := range g.Values() {
			if g.Known(store.GPUColumn(c)) {
				b.set(3+c, v)
			} else {
				b.null(3 + c)
			}
		}
		b.set(3+int(store.NumGPUColumns), w.session.id)
		_, err := b.runAt(g.At)
		return err
	},
	list: (*Reader).gpuSnapshots,
}

// gpuSnapshots reads the columns that the schema has.
func (r *Reader) gpuSnapshots(ctx context.Context, w store.Window) ([]store.GPUSnapshot, error) {
	columns := gpuColumns
	if ok, err := r.has(ctx, "gpu_device"); err != nil {
		return nil, err
	} else if !ok {
		columns = strings.Join(strings.Split(gpuColumns, ", ")[:olderColumns], ", ")
	}
	var out []store.GPUSnapshot
	query := "select ts, gpu, " + columns + " from gpu_snapshot where ts between ? and ? order by ts"
	err := r.optional(ctx, "gpu_snapshot", query, bounds(w), func(s *sqlite.Stmt) error {
		g := store.GPUSnapshot{At: number(s, 0), GPU: int(s.ColumnInt64(1))}
		var v [store.NumGPUColumns]int64
		for c := range store.NumGPUColumns {
			if i := 2 + int(c); i >= s.ColumnCount() || s.ColumnIsNull(i) {
				g.Unknown |= 1 << c
			} else {
				v[c] = s.ColumnInt64(i)
			}
		}
		g.SetValues(v)
		out = append(out, g)
		return nil
	})
	return out, err
}
