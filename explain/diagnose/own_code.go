package diagnose

import (
	"fmt"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Now and then a program runs its own code for long between two calls: it compiles, collects garbage, writes a
// checkpoint. The seconds with and without it have no levels, so that no change shows it, and no call is slow. What
// every step does is no loss: only what goes far beyond a step is.

const (
	ownCodeSteps = 2.0 // least time on a CPU in a gap, in steps
	ownCodeAfter = 50  // steps after which it counts: before, a program loads and compiles
)

var causeOwnCode = cause{
	kind:           event.CauseOwnCode,
	takes:          onCPU,
	claimAggregate: aggregateOwnCode,
	once:           true,
	saysCode:       true,
	describe:       describeOwnCode,
}

// aggregateOwnCode takes the time on a CPU of the gaps in which a thread ran for much longer than a step takes, if it
// adds up to a share that is worth reporting, whatever a single gap took.
func aggregateOwnCode(ev *evidence, t *subject) []claim {
	op, step := ev.stepTakes(t)
	if step == 0 {
		return nil
	}
	var claims []claim
	var sum uint64
	for i := range t.episodes {
		e := &t.episodes[i]
		if e.Call != nil || e.Duration < uint64(minStall) {
			continue
		}
		split := e.Split()
		on := split.Of(event.OnCPU)
		lost := on - min(on, step)
		if lost < uint64(minStall) || float64(on) < ownCodeSteps*float64(step) ||
			ev.calls.callsBefore(t, op, e.Start) < ownCodeAfter {
			continue
		}
		sum += lost
		claims = append(claims, claim{
			acc: &account{Episode: e, sub: t, split: split}, key: key{kind: event.CauseOwnCode}, class: event.OnCPU,
			lost: lost, explained: lost, stall: lost,
		})
	}
	if percent(sum, t.wall()) < minPct {
		return nil
	}
	return claims
}

// stepTakes returns which calls count a thread's steps, and how long one usually takes, ns; 0 if that is not known.
func (ev *evidence) stepTakes(t *subject) (op event.Op, ns uint64) {
	of, ok := ev.stepsOf(t)
	if !ok {
		return 0, 0
	}
	if !of.Rate {
		return of.Op, t.steps.Quantile(0.5)
	}
	st := ev.calls.stats[threadOp{t.Thread, of.Op}]
	if st == nil || st.Calls == 0 {
		return 0, 0
	}
	return of.Op, ev.calls.active(t) / st.Calls
}

// callsBefore returns how many calls of an operation a thread made in the whole seconds before a time.
func (cs *callStats) callsBefore(t *subject, op event.Op, at uint64) (n uint64) {
	width := max(cs.in.SeriesStep, 1) * uint64(time.Second)
	for _, s := range cs.series[threadOp{t.Thread, op}] {
		if s.Second*uint64(time.Second)+width <= at {
			n += s.Calls
		}
	}
	return n
}

func describeOwnCode(ev *evidence, f *finding, c *report.Chain) {
	_, step := ev.stepTakes(f.sub)
	in := ev.codeOf(func(s *event.CodeSample) bool {
		return s.Thread == f.sub.Thread && s.Op == 0 && f.claims.during(s.At)
	})
	c.Cause.Code = in
	c.Summary = fmt.Sprintf("%s lost %s on a CPU in its own code between calls: %s of up to %s",
		f.process(ev), f.pct(), plural(f.sample, "gap", "gaps"), span(f.stall))
	c.Cause.Detail = fmt.Sprintf("a step takes %s; nothing kept the thread from its CPU there, and it gave the GPU "+
		"no work", span(step))
	c.Path = []report.Step{f.step(ev, "running", "its own code", f.lost)}
	c.Recommendations = []string{
		fmt.Sprintf("see where the time goes: perf record -g -t %d, or py-spy record --native --pid %d for Python", f.sub.TID,
			f.sub.PID),
	}
	if in != nil {
		c.Summary += ", of whose time " + in.Words()
		c.Recommendations = []string{
			"do it before the loop, seldom enough, or in another process, so that launches go on: in Python a thread " +
				"keeps the interpreter's lock meanwhile",
		}
	}
}

// during reports whether time was lost at a time, Unix ns.
func (l claimList) during(at uint64) bool {
	for _, cl := range l {
		if at >= cl.acc.Start && at < cl.acc.End() {
			return true
		}
	}
	return false
}
