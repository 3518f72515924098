package nodeapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

const (
	defaultColumns = 240
	maxColumns     = 2000
	// Below so many seconds, columns are parts of a second, for which calls are read one by
	// one.
	wholeSeconds = 30
	// perOctave is the number of rows for each doubling of the duration.
	perOctave = 4
)

// perSecond is a recording with exact statistics of each second.
type perSecond interface {
	OpSeconds(ctx context.Context, w store.Window, visit func(sec uint64, o *store.OpStat) bool) error
}

// heatmap counts the calls of an operation by time and duration.
func heatmap(ctx context.Context, a *API, in *input) (out wire.Heatmap, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		h := heat{
			view: v, in: in, out: &out, cells: map[[2]uint64]uint64{}, from: out.Window.FromNS,
			to: max(out.Window.ToNS, out.Window.FromNS+1),
		}
		if err := h.choose(ctx); err != nil {
			return err
		}
		if r, ok := v.Recording.(perSecond); ok && h.to-h.from > wholeSeconds*uint64(time.Second) {
			err = h.seconds(ctx, r)
		} else {
			err = h.calls(ctx)
		}
		h.finish()
		return err
	})
	return out, err
}

// heat counts for a heat map.
type heat struct {
	view     *recording.View
	in       *input
	op       event.Op
	out      *wire.Heatmap
	cells    map[[2]uint64]uint64 // by column and row
	from, to uint64
}

func (h *heat) wants(t event.Thread) bool {
	return h.view.Wants(t.PID) && (h.in.tid == 0 || t.TID == h.in.tid)
}

// choose lists the operations, and selects the requested one, or the one with most time.
func (h *heat) choose(ctx context.Context) error {
	list, err := store.List[store.OpStat](ctx, h.view, h.view.Window)
	if err != nil {
		return err
	}
	total := map[event.Op]uint64{}
	for i := range list {
		if h.wants(list[i].Thread) {
			total[list[i].Op] += list[i].SumNS
		}
	}
	ops := make([]event.Op, 0, len(total))
	for op := range total {
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b event.Op) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) })
	h.out.Ops = []string{}
	for _, op := range ops {
		h.out.Ops = append(h.out.Ops, op.String())
	}
	if h.op = h.in.op; h.op == 0 && len(ops) > 0 {
		h.op = ops[0]
	}
	if h.op != 0 {
		h.out.Op = h.op.String()
	}
	return nil
}

// seconds counts from the statistics of whole seconds.
func (h *heat) seconds(ctx context.Context, r perSecond) error {
	const second = uint64(time.Second)
	first, end := h.from/second, (h.to-1)/second+1
	step := (end - first + uint64(h.in.columns) - 1) / uint64(h.in.columns)
	h.out.StartNS, h.out.ColumnNS, h.out.Columns, h.out.Exact = first*second, step*second, int((end-first+step-1)/step),
		true
	return r.OpSeconds(ctx, store.Window{From: h.from, To: h.to}, func(sec uint64, o *store.OpStat) bool {
		if o.Op == h.op && h.wants(o.Thread) && sec >= first && sec < end {
			o.Hist.Each(func(i int, n uint32) { h.add((sec-first)/step, i, uint64(n)) })
		}
		return true
	})
}

// calls counts stored calls, with their weights.
func (h *heat) calls(ctx context.Context) error {
	step := (h.to - h.from + uint64(h.in.columns) - 1) / uint64(h.in.columns)
	h.out.StartNS, h.out.ColumnNS, h.out.Columns = h.from, step, int((h.to-h.from+step-1)/step)
	return h.view.CallTimes(ctx, store.Window{From: h.from, To: h.to}, func(c *event.CallTime) bool {
		if c.Op == h.op && h.wants(c.Thread) {
			h.add((c.Start-h.from)/step, stats.Bucket(c.Duration), uint64(max(c.Weight, 1)))
		}
		return true
	})
}

// add counts calls that fall into a bucket of a histogram.
func (h *heat) add(column uint64, bucket int, n uint64) {
	const fine = 1 << stats.Scale / perOctave // buckets in a row
	h.cells[[2]uint64{column, uint64((bucket + fine - 1) / fine)}] += n
	h.out.Calls += n
}

func (h *heat) finish() {
	keys := make([][2]uint64, 0, len(h.cells))
	for k := range h.cells {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	h.out.Cells = make([]uint64, 0, 3*len(keys))
	for _, k := range keys {
		h.out.Cells = append(h.out.Cells, k[0], k[1], h.cells[k])
	}
}
