package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeGPUWait = cause{
	kind:           event.CauseGPUWait,
	settings:       []string{launchBlocking},
	takes:          onCPU | waitsOnGPU,
	claimEpisode:   claimGPUWait,
	claimAggregate: aggregateGrowingWaits,
	refinable:      true,
	gpuSide:        true,
	describe:       describeGPUWait,
	busyGPU:        true,
}

// claimGPUWait takes the time of a call that waits for the GPU beyond its median. In a sync call
// all of it is GPU wait: drivers sleep, poll, wait in an ioctl or spin. An asynchronous copy that
// spins is copying pageable memory. A launch waits for the GPU only if it sleeps until there is
// room in the queue.
func claimGPUWait(_ *evidence, a *account) []claim {
	if a.Call == nil {
		return nil
	}
	classes := soft
	switch a.role {
	case event.RoleSync:
		classes = append([]event.Class{event.OnCPU}, soft...)
	case event.RoleCopy:
		if !strings.Contains(a.Op.String(), "Async") {
			classes = append([]event.Class{event.OnCPU}, soft...)
		}
	case event.RoleLaunch, event.RoleFree:
	default:
		return nil
	}
	var v uint64
	for _, c := range classes {
		v += a.take(c, a.left[c])
	}
	if a.role == event.RoleLaunch && v > a.left[event.OnCPU] {
		v += a.take(event.OnCPU, a.left[event.OnCPU]) // spinning before and after sleeping
	}
	if v == 0 {
		return nil
	}
	return []claim{{acc: a, key: key{kind: event.CauseGPUWait}, class: event.Other, lost: v, explained: v, stall: v}}
}

func describeGPUWait(ev *evidence, f *finding, c *report.Chain) {
	e := c.Effect
	c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s: %s",
		f.process(ev), f.pct(), e.Op, f.tookLonger(&e))
	c.Cause.Detail = onGPU(f.claims, "the GPU's own work took longer", "the work of GPU %d took longer")
	if held := heldOnHost(&f.loss); held == "" {
		c.Cause.Detail = "nothing on the host held the calls up: " + c.Cause.Detail
	} else {
		c.Cause.Detail += "; in the same calls the thread also " + held + ", which is not counted here"
	}
	c.Cause.Detail += "; " + waitedHow(&f.loss)
	if took, base := f.claims.longest(); base > 0 && f.worst.acc.ofWork() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s: the same work took up to %s instead of %s, in %s",
			f.process(ev), f.pct(), e.Op, span(took), span(base), plural(int(e.SlowCalls), "wait", "waits"))
		if _, ok := f.sub.levels[f.claims.op().op]; !ok {
			c.Cause.Detail += slower(f.claims, base)
		}
	}
	if l, ok := f.sub.levels[f.claims.op().op]; ok && f.claims.op().call {
		if enqueues(f.claims.op().op) {
			c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s: its launch queue was full, and a call took %s on "+
				"average instead of %s", f.process(ev), f.pct(), e.Op, span(uint64(float64(l.usual)*l.times)), span(l.usual))
		}
		c.Cause.Detail += fmt.Sprintf("; since %s these waits took %.1f times as long as before, for as many launches",
			clockOf(l.since/1e9), l.times)
	}
	if g, ok := ev.growing(f.sub, f.claims.op().op); ok && f.claims.op().call {
		c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s, which grew from %s to %s", f.process(ev), f.pct(),
			e.Op, span(g.first), span(g.last))
		c.Cause.Detail += fmt.Sprintf("; the mean call grew from %s in the first quarter of the time to %s in the last: "+
			"the work grows, or the GPU gets slower", span(g.first), span(g.last))
	}
	c.Path = []report.Step{f.step(ev, "blocked", "GPU work", f.lost)}
	if n := f.worst.nested(); n != nil {
		c.Path = append(c.Path, report.Step{
			Layer: n.Op.Source().String(), Process: f.process(ev), PID: f.sub.PID,
			TID: f.sub.TID, Thread: e.Thread, State: "blocked", On: n.Op.String(), NS: f.lost,
		})
	}
	c.Recommendations = []string{lookInside(f, e)}
	if rivals := ev.always(f.sub); len(rivals) > 0 {
		who := strings.Join(rivals, ", ")
		c.Alternatives = append(c.Alternatives, report.Alternative{
			Kind: event.CauseGPUContention,
			Why:  who + " used the same GPU, by the processes' own numbers, all the time: there is nothing to compare with",
		})
		c.Recommendations = append(c.Recommendations, fmt.Sprintf("stop %s for a minute and see whether %s gets shorter; "+
			"see also nvidia-smi -q -d PERFORMANCE for clock limits", who, e.Op))
		return
	}
	c.Recommendations = append(c.Recommendations,
		"check for others on the same GPU and for clock limits: nvidia-smi --query-compute-apps=pid,name --format=csv; "+
			"nvidia-smi -q -d PERFORMANCE")
}

// heldOnHost describes what delayed the same calls on the host. That is not part of the finding. It
// is empty if it is less than minAlternative of the loss.
func heldOnHost(l *loss) string {
	var by [event.NumClasses]uint64
	seen := map[*account]bool{}
	for _, cl := range l.claims {
		if cl.aggregate || seen[cl.acc] {
			continue
		}
		seen[cl.acc] = true
		for _, c := range []event.Class{event.RunQueue, event.Throttled, event.BlockIO, event.Fault} {
			by[c] += cl.acc.split.NS[c]
		}
	}
	var parts []string
	for c, ns := range by {
		if percent(ns, l.lost) >= minAlternative {
			parts = append(parts, event.Class(c).Did()+" "+span(ns))
		}
	}
	return strings.Join(parts, ", ")
}

// onGPU returns the text with the number of the GPU that the calls are for, or the text without, if
// the process has not chosen one.
func onGPU(claims claimList, without, with string) string {
	for _, cl := range claims {
		if c := cl.acc.Call; c != nil && c.GPU != event.NoGPU {
			return fmt.Sprintf(with, c.GPU)
		}
	}
	return without
}

// waitedHow says in which kind of calls the thread waited for the GPU most.
func waitedHow(l *loss) string {
	var sync, queue, copies uint64
	for _, cl := range l.claims {
		switch cl.acc.role {
		case event.RoleSync:
			sync += cl.lost
		case event.RoleLaunch:
			queue += cl.lost
		default:
			copies += cl.lost
		}
	}
	word, most := "synchronisation", sync
	if queue > most {
		word, most = "launches that found the launch queue full", queue
	}
	if copies > most {
		word, most = "copies and frees that wait for earlier work", copies
	}
	if most == l.lost {
		return "all of it in " + word
	}
	return fmt.Sprintf("%.0f %% of it in %s", percent(most, l.lost), word)
}

// lookInside recommends where to look next.
func lookInside(f *finding, e report.Effect) string {
	switch f.worst.acc.role {
	case event.RoleLaunch:
		return fmt.Sprintf("the GPU is the bottleneck: profile its kernels for a few seconds with a GPU profiler (pid "+
			"%d); to keep %s from blocking, synchronise before about 1,000 launches are in flight", f.sub.PID, e.Op)
	case event.RoleCopy:
		return fmt.Sprintf("see what %s waits for: profile a few seconds of pid %d with a GPU profiler around the times "+
			"in the evidence; cudaMemcpyAsync from page-locked memory in a stream of its own does not wait for kernels", e.Op,
			f.sub.PID)
	}
	return fmt.Sprintf("see which kernels ran before the slow %s: profile a few seconds of pid %d with a GPU profiler "+
		"around the times in the evidence", e.Op, f.sub.PID)
}
