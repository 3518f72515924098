package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// bandShare is how far the time attributed to a cause may be off, either way: the
// bound that the accuracy benchmark holds the diagnosis to.
const bandShare = 0.15

// whatIf is the duration of a step without the cause. What the GPU did while the
// host was held up has to be waited for when it no longer is: synchronizations
// that came back early show how much that was.
func (f *finding) whatIf(s *scene) *report.WhatIf {
	n := f.sub.count
	now := s.stepNS(f.sub)
	if n == 0 || now == 0 || f.explained == 0 || f.kind == ColdStart {
		return nil
	}
	hidden := uint64(0)
	if !gpuSide(f.kind) {
		hidden = uint64(float64(s.absorbed(f.sub)) * share(f.lost, f.sub.lostOnHost))
	}
	gain := float64(f.explained-min(hidden, f.explained)) / float64(n)
	least := float64(f.lost) / float64(n)
	without := func(gain float64) uint64 { return uint64(max(float64(now)-gain, 0)) }
	w := &report.WhatIf{NowNS: now, StepNS: without(gain)}
	w.LowNS = without(max(gain*(1+bandShare), min(least, gain*(1+2*bandShare))))
	w.HighNS = without(gain * (1 - bandShare))
	if w.StepNS > 0 {
		w.FasterBy = round(100 * (float64(now)/float64(w.StepNS) - 1))
	}
	return w
}

// gpuSide reports whether a cause is of the GPU's own time: removing it hides
// nothing behind the GPU.
func gpuSide(kind string) bool {
	switch kind {
	case GPUWait, GPUContention, ThermalThrottle, ImplicitSync, CollectiveWait:
		return true
	}
	return false
}

// early is the share of its median from which a synchronization came back early.
const early = 0.7

// absorbed is how much shorter than usual the synchronizations were that came
// back early: the GPU had worked on while the host was held up. Delays that were found to
// cost nothing shortened them too, and are no part of any loss.
func (s *scene) absorbed(t *subject) uint64 {
	var total uint64
	for k, st := range s.stats {
		if k.Thread != t.Thread || k.op.Role() != event.RoleSync || st.Hist == nil {
			continue
		}
		usual := st.Hist.Quantile(0.5)
		n, sum := st.Hist.Below(uint64(early * float64(usual)))
		total += n*usual - min(sum, n*usual)
	}
	return total - min(total, s.delays[t.PID])
}

// minAlternative is the share of a finding's time from which another kind that
// was found in the same calls is worth a word, in percent.
const minAlternative = 1.0

// alternatives are the other kinds that were found in the same calls and pauses.
func (f *finding) alternatives(all []*finding) []report.Alternative {
	in := map[*account]bool{}
	for _, p := range f.pieces {
		in[p.acc] = true
	}
	lost := map[string]uint64{}
	for _, g := range all {
		if g == f || g.sub != f.sub {
			continue
		}
		for _, p := range g.pieces {
			if in[p.acc] {
				lost[g.kind] += p.lost
			}
		}
	}
	var list []report.Alternative
	for kind, ns := range lost {
		pct := 100 * float64(ns) / float64(max(f.lost, 1))
		if kind == f.kind || ns >= f.lost || pct < minAlternative {
			continue
		}
		list = append(list, report.Alternative{
			Kind: kind, Pct: round(pct),
			Why: fmt.Sprintf("only %s in the same calls, against %s", span(ns), span(f.lost)),
		})
	}
	slices.SortFunc(list, func(a, b report.Alternative) int {
		return cmp.Or(cmp.Compare(b.Pct, a.Pct), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
