package sqlite

import "github.com/ingero-io/ingero/store"

// gpuClockKind is changes of GPUs' clocks. One whose nanosecond is taken moves up. SQL reads it, and
// no Reader.
var gpuClockKind = &kind[store.GPUClockChange]{
	tables:     []table{{name: "gpu_clock_change", prune: "ts", machine: true}},
	rows:       func(t *store.Tables) *[]store.GPUClockChange { return &t.GPUClocks },
	hold:       keepEach[store.GPUClockChange],
	statements: []string{"insert into gpu_clock_change values (" + values(7) + ")"},
	insert: func(w *Writer, s []*boundStmt, c *store.GPUClockChange) error {
		b := s[0]
		b.set(2, int64(c.GPU))
		b.opt(3, int64(c.FromMHz))
		b.opt(4, int64(c.ToMHz))
		if c.ReasonsUnknown {
			b.null(5)
			b.null(6)
		} else {
			b.set(5, int64(c.FromReasons))
			b.set(6, int64(c.ToReasons))
		}
		b.set(7, w.session.id)
		_, err := b.runAt(c.At)
		return err
	},
	view: `create view gpu_clock_changes as
select c.ts as timestamp, c.gpu as gpu_id, c.from_mhz, c.to_mhz, c.from_reasons, c.to_reasons, s.node
from gpu_clock_change c join session s on s.id = c.session;`,
}
