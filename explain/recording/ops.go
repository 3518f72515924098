package recording

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// OpTable returns the exact statistics of each process's operations, over all threads, those with most time first.
func OpTable(all []store.OpStat) map[uint32][]report.Op {
	type sums struct {
		op   report.Op
		hist stats.Histogram
	}
	by := map[uint32]map[event.Op]*sums{}
	for i := range all {
		o := &all[i]
		if by[o.PID] == nil {
			by[o.PID] = map[event.Op]*sums{}
		}
		k := by[o.PID][o.Op]
		if k == nil {
			k = &sums{op: report.Op{Op: o.Op.String()}}
			by[o.PID][o.Op] = k
		}
		k.op.Calls += o.Calls
		k.op.Errors += o.Errors
		k.op.TotalNS += o.SumNS
		k.op.Bytes += o.Bytes
		k.op.MaxNS = max(k.op.MaxNS, o.MaxNS)
		k.hist.Merge(o.Hist)
	}
	table := map[uint32][]report.Op{}
	for pid, ops := range by {
		list := []report.Op{}
		for _, k := range ops {
			setQuantiles(&k.op, &k.hist)
			list = append(list, k.op)
		}
		slices.SortFunc(list, func(a, b report.Op) int {
			return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Op, b.Op))
		})
		table[pid] = list
	}
	return table
}

// setQuantiles sets how long an operation's calls were.
func setQuantiles(o *report.Op, h *stats.Histogram) {
	o.P50NS = min(h.Quantile(0.5), o.MaxNS)
	o.P95NS = min(h.Quantile(0.95), o.MaxNS)
	o.P99NS = min(h.Quantile(0.99), o.MaxNS)
	o.Kinds = OpKinds(h, o.MaxNS)
}

// OpKinds returns short and long calls, if there are two kinds. longest is the longest call, ns.
func OpKinds(h *stats.Histogram, longest uint64) []report.OpKind {
	brief, long, two := h.Kinds()
	if !two {
		return nil
	}
	return []report.OpKind{
		{Calls: brief.Count, P50NS: brief.Median}, {Calls: long.Count, P50NS: min(long.Median, longest)},
	}
}
