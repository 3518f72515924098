package diagnose

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/report"
)

// The account of a step: where the time of a thread's mean step went. Each nanosecond is in one part, so that the parts
// add up to the step.

// minPart is the least share of a step that is a part of its own, percent; the smaller ones are one part.
const minPart = 1.0

// The parts that are no class of a wait.
const (
	partGPU      = "waiting for the GPU"
	partLaunch   = "in launches"
	partCopy     = "in copies"
	partCalls    = "in other calls"
	partRunnable = "runnable without a CPU"
	partBetween  = "on a CPU between calls"
	partOther    = "other"
)

// partOf names the part that the time in calls of an operation is in.
func partOf(op event.Op) string {
	switch op.Role() {
	case event.RoleSync:
		return partGPU
	case event.RoleLaunch, event.RoleCollective:
		return partLaunch
	case event.RoleCopy:
		return partCopy
	}
	return partCalls
}

// stepAccount splits the mean step of a thread, from its first whole second with steps to its last one; nil if it has
// too few.
func (ev *evidence) stepAccount(t *subject) (meanNS uint64, parts []report.StepPart) {
	width := max(ev.in.SeriesStep, 1) * uint64(time.Second)
	list := ev.seconds(t, width, ev.waitedBySecond(t.Thread))
	from := t.from + warmup(t)
	list = slices.DeleteFunc(list, func(s change.Second) bool { return s.At < from })
	if len(list) == 0 {
		return 0, nil
	}
	wall := list[len(list)-1].At + width - list[0].At
	steps, spent := sumOfSteps(list, t.steps.Op)
	if steps == 0 {
		return 0, nil
	}
	var known uint64
	for _, ns := range spent {
		known += ns
	}
	spent[partBetween] += wall - min(known, wall)
	wall = max(wall, known) // a call that began in the last second may have ended after it
	return wall / steps, stepParts(spent, wall, steps)
}

// sumOfSteps counts the steps of some seconds and sums the time in calls and in waits between them, by part, ns.
func sumOfSteps(list []change.Second, ends event.Op) (steps uint64, spent map[string]uint64) {
	spent = map[string]uint64{}
	for i := range list {
		s := &list[i]
		for j := range s.Ops {
			o := &s.Ops[j]
			queued := min(o.Ledger.NS[event.RunQueue]+o.Ledger.NS[event.Throttled], o.NS)
			spent[partRunnable] += queued
			spent[partOf(o.Op)] += o.NS - queued
			if o.Op == ends {
				steps += o.Calls
			}
		}
		for c, ns := range s.Between.NS {
			switch event.Class(c) {
			case event.RunQueue, event.Throttled:
				spent[partRunnable] += ns
			default:
				spent["blocked between calls: "+event.Class(c).Title()] += ns
			}
		}
	}
	return steps, spent
}

// stepParts are the parts of a mean step, the largest first.
func stepParts(spent map[string]uint64, wall, steps uint64) (parts []report.StepPart) {
	var rest uint64
	for what, ns := range spent {
		if percent(ns, wall) < minPart {
			rest += ns
			continue
		}
		parts = append(parts, report.StepPart{What: what, NS: ns / steps, Pct: round(percent(ns, wall))})
	}
	slices.SortFunc(parts, func(a, b report.StepPart) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.What, b.What))
	})
	if percent(rest, wall) >= minPart {
		parts = append(parts, report.StepPart{What: partOther, NS: rest / steps, Pct: round(percent(rest, wall))})
	}
	return parts
}
