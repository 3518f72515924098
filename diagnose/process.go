package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/stats"
	"github.com/ingero-io/ingero/store"
)

// OpTable is exact statistics of each process's operations, all threads together,
// those that took most time first.
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
			k.op.P50NS = min(k.hist.Quantile(0.5), k.op.MaxNS)
			k.op.P95NS = min(k.hist.Quantile(0.95), k.op.MaxNS)
			k.op.P99NS = min(k.hist.Quantile(0.99), k.op.MaxNS)
			k.op.Kinds = kindsOf(&k.hist, k.op.MaxNS)
			list = append(list, k.op)
		}
		slices.SortFunc(list, func(a, b report.Op) int {
			return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Op, b.Op))
		})
		table[pid] = list
	}
	return table
}

// processes is the per-process table.
func (s *scene) processes() []report.Process {
	var list []report.Process
	for pid, ops := range OpTable(s.in.Ops) {
		p := report.Process{PID: pid, Process: s.name(pid, ""), Node: s.in.Node, Ops: ops}
		if info := s.procs[pid]; info != nil {
			p.Node = cmp.Or(info.Node, p.Node)
			p.Owner = s.owner(pid)
			p.Framework = string(info.Framework)
			if info.Rank >= 0 {
				p.Rank = &info.Rank
			}
		}
		p.Memory, p.Warnings = s.figures(pid), s.warnings(&p)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b report.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list
}
