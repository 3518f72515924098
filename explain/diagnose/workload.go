package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// readSteps finds the steps in each thread's calls.
func (ev *evidence) readSteps() {
	by := map[event.Thread][][]event.CallTime{}
	for _, span := range ev.in.Spans {
		n := map[event.Thread]int{}
		for i := range span {
			if span[i].Depth == 0 {
				n[span[i].Thread]++
			}
		}
		part := make(map[event.Thread][]event.CallTime, len(n))
		for t, calls := range n {
			part[t] = make([]event.CallTime, 0, calls)
		}
		for i := range span {
			if c := &span[i]; c.Depth == 0 {
				part[c.Thread] = append(part[c.Thread], *c)
			}
		}
		for t, calls := range part {
			if !slices.IsSortedFunc(calls, ledger.InOrder) { // as recorded, they are
				slices.SortFunc(calls, ledger.InOrder)
			}
			by[t] = append(by[t], calls)
		}
	}
	for _, t := range ev.subjects {
		spans := by[t.Thread]
		slices.SortFunc(spans, func(a, b []event.CallTime) int { return cmp.Compare(a[0].Start, b[0].Start) })
		steps, ok := ledger.FindSteps(spans)
		if !ok {
			continue
		}
		t.steps = steps
		t.count = ev.calls.countSteps(t)
	}
}

// countSteps returns how many calls end a step. If only long calls do, they are recorded one by one;
// there are at least as many steps as were sampled.
func (cs *callStats) countSteps(t *subject) uint64 {
	if t.steps.Least == 0 {
		if st := cs.stats[threadOp{t.Thread, t.steps.Op}]; st != nil {
			return st.Calls
		}
		return 0
	}
	var n uint64
	for i := range t.episodes {
		if e := &t.episodes[i]; e.Call != nil && e.Op == t.steps.Op && e.Duration >= t.steps.Least {
			n++
		}
	}
	return max(n, uint64(len(t.steps.Sampled)))
}

// active returns the time in which a thread was not idle, ns.
func (cs *callStats) active(t *subject) uint64 {
	idle, _ := cs.idleOf(t)
	return t.wall() - min(idle, t.wall())
}

// stepNS returns the mean duration of a step without waits for work, ns; 0 if there are no steps.
func (cs *callStats) stepNS(t *subject) uint64 {
	if t.count == 0 {
		return 0
	}
	return cs.active(t) / t.count
}

// workloads describes the steps of each thread that has some.
func (ev *evidence) workloads() []report.Workload {
	var list []report.Workload
	for _, t := range ev.subjects {
		if t.count == 0 {
			continue
		}
		w := report.Workload{
			Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID, Steps: t.count, PerStep: t.steps.Words(),
			WarmupNS: warmup(t), P50NS: t.steps.Quantile(0.5), P99NS: t.steps.Quantile(0.99),
			Trend: round(100 * t.steps.Trend(t.from, t.to)),
		}
		w.MeanNS, w.Account = ev.stepAccount(t)
		list = append(list, w)
	}
	return list
}

// warmup returns how long the first, slower steps took, ns.
func warmup(t *subject) uint64 {
	n := t.steps.Warmup()
	if n == 0 {
		return 0
	}
	end := t.steps.Sampled[n-1].End
	return end - min(t.from, end)
}

// perStep returns the loss in each of the thread's steps, nil if it makes none.
func (l *loss) perStep(t *subject) *report.PerStep {
	n := t.count
	if n == 0 || l.lost == 0 {
		return nil
	}
	mean := max(t.wall()/n, 1)
	starts := make([]uint64, 0, len(l.claims))
	for _, cl := range l.claims {
		if cl.aggregate { // every step has its part
			return &report.PerStep{LostNS: l.lost / n, Steps: n, Affected: n}
		}
		starts = append(starts, cl.acc.Start)
	}
	slices.Sort(starts)
	var affected, until uint64
	for _, at := range starts {
		if affected == 0 || at >= until {
			affected++
			until = at + mean
		}
	}
	return &report.PerStep{LostNS: l.lost / n, Steps: n, Affected: min(affected, n)}
}
