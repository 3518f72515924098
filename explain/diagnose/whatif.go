package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// bandShare is the largest error of the time attributed to a cause, either way: the bound that the
// accuracy benchmark checks.
const bandShare = 0.15

// whatIf returns the duration of a step without the cause. Work that the GPU did while the host was
// delayed would have to be waited for without the delay: synchronisations that returned early show
// how much that was.
func (f *finding) whatIf(ev *evidence) *report.WhatIf {
	n := f.sub.count
	now := ev.calls.stepNS(f.sub)
	if n == 0 || now == 0 || f.explained == 0 || f.cause.once {
		return nil
	}
	hidden := uint64(0)
	if !f.cause.gpuSide {
		hidden = uint64(float64(ev.shortened(f.sub)) * share(f.lost, f.sub.lostOnHost))
	}
	freed := min(f.explained+f.beside, f.lost)
	gain := float64(freed-min(hidden, freed)) / float64(n)
	least := float64(f.lost) / float64(n)
	without := func(gain float64) uint64 { return uint64(max(float64(now)-gain, 0)) }
	w := &report.WhatIf{NowNS: now, StepNS: without(gain)}
	w.LowNS = without(max(gain*(1+bandShare), min(least, gain*(1+2*bandShare))))
	w.HighNS = without(gain * (1 - bandShare))
	step, why := uint64(0), ""
	if f.cause.leastStep != nil {
		step, why = f.cause.leastStep(ev, f)
	}
	if step > w.StepNS {
		w.StepNS, w.LowNS, w.HighNS = min(step, now), min(max(step, w.LowNS), now), min(max(step, w.HighNS), now)
		w.Remains = why
	} else if others := f.sub.lost - min(f.lost, f.sub.lost); 100*(others/n) >= now {
		w.Remains = fmt.Sprintf("%s per step lost to other causes", span(others/n))
	}
	if w.StepNS > 0 {
		w.FasterBy = round(100 * (float64(now)/float64(w.StepNS) - 1))
	}
	return w
}

// early is the share of the median below which a synchronisation counts as having returned early.
const early = 0.7

// shortened returns how much shorter than usual the early synchronisations were, ns: the GPU went on
// working while the host was delayed. Delays by the host in such calls do not count as usual.
// Delays that cost nothing also shortened them; these are subtracted, because they are not in any
// loss.
func (ev *evidence) shortened(t *subject) uint64 {
	var total uint64
	for k, st := range ev.calls.stats {
		if k.Thread != t.Thread || k.op.Role() != event.RoleSync || st.Hist == nil {
			continue
		}
		usual := st.Hist.Quantile(0.5)
		usual -= min(usual, (st.SumNS-itself(st))/max(st.Calls, 1))
		n, sum := st.Hist.Below(uint64(early * float64(usual)))
		total += n*usual - min(sum, n*usual)
	}
	return total - min(total, ev.queue.delays[t.PID])
}

// minAlternative is the least share of another kind, of the time lost in the same calls, that is
// reported, percent.
const minAlternative = 1.0

// alternatives returns the other kinds found in the same calls and gaps. Their shares are of the time
// lost there to all kinds, so that they add up with the finding's own.
func (f *finding) alternatives(all []*finding) []report.Alternative {
	in := map[*account]bool{}
	for _, cl := range f.claims {
		in[cl.acc] = true
	}
	lost := map[string]uint64{}
	sum := f.lost
	for _, g := range all {
		if g == f || g.sub != f.sub {
			continue
		}
		for _, cl := range g.claims {
			if in[cl.acc] {
				lost[g.kind] += cl.lost
				sum += cl.lost
			}
		}
	}
	var list []report.Alternative
	for kind, ns := range lost {
		pct := percent(ns, sum)
		if kind == f.kind || pct < minAlternative {
			continue
		}
		why := "only %s in the same calls, against %s"
		if ns >= f.lost {
			why = "%s in the same calls, against %s; it is a finding of its own"
		}
		list = append(list, report.Alternative{Kind: kind, Pct: round(pct), Why: fmt.Sprintf(why, span(ns), span(f.lost))})
	}
	slices.SortFunc(list, func(a, b report.Alternative) int {
		return cmp.Or(cmp.Compare(b.Pct, a.Pct), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
