package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// When there are too many waits: short ones, several in each step, and together a large share of
// the time. Where calls do not show steps, a number of launches counts as a step.
const (
	maxShortWait = 200 * time.Microsecond // of the median, or of the mean without waits on the host
	minWaits     = 4.0                    // in each step
	minShortPct  = 10.0                   // percent of the time that no other cause took
	maxWaitsEach = 2                      // for each kernel
	// bytes; larger pageable copies take time themselves (CUDA runtime API, "API synchronization
	// behavior")
	maxSmallCopy = 64 << 10
)

// blockingCopies are the copies that return only when they are done. Fills, and copies within the
// device, do not wait.
var blockingCopies = []string{"cudaMemcpy", "cudaMemcpy2D", "cuMemcpyHtoD", "cuMemcpyDtoH"}

func blocks(op event.Op) bool {
	return op.Role() == event.RoleSync || slices.Contains(blockingCopies, op.String())
}

// waitMix is a thread's short waits for the GPU, and the number of steps they are in.
type waitMix struct {
	short []*store.OpStat
	calls uint64
	steps float64
	unit  string // what a step is, in words
	long  uint64 // calls of other operations that wait: these are needed
}

func (ev *evidence) shortWaitsOf(t *subject) (w waitMix, many bool) {
	for _, o := range t.ops {
		if !blocks(o.Op) {
			continue
		}
		small := o.Op.Role() == event.RoleSync || o.Bytes <= o.Calls*maxSmallCopy
		if small && min(o.Hist.Quantile(0.5), itself(o)/o.Calls) < uint64(maxShortWait) {
			w.short = append(w.short, o)
			w.calls += o.Calls
			continue
		}
		w.long += o.Calls
	}
	launches := t.launches(ev)
	w.steps, w.unit = float64(launches)/launchesPerStep, fmt.Sprintf("for every %d kernels", launchesPerStep)
	if t.count > 0 && launches >= 2*t.count { // with a single launch a step, steps may be parts of one that are waited for
		w.steps, w.unit = float64(t.count), "a step"
	}
	if w.calls > maxWaitsEach*max(launches, 1) { // launches are not recorded, or most waits find nothing queued
		return w, false
	}
	return w, w.steps > 0 && float64(w.calls) >= minWaits*max(w.steps, 1)
}

// last returns the duration of the longest call of an operation in a step, ns: that call waits for the
// step's work.
func (w *waitMix) last(o *store.OpStat) uint64 {
	n := max(1, float64(o.Calls)/max(w.steps, 1))
	return o.Hist.Quantile(1 - 1/(2*n))
}

// usualWaits returns the duration of the longest wait in each step, ns, by operation, where many short
// waits of the same operation hide it from the median.
func (ev *evidence) usualWaits(t *subject) map[event.Op]uint64 {
	w, many := ev.shortWaitsOf(t)
	if !many {
		return nil
	}
	usual := map[event.Op]uint64{}
	for _, o := range w.short {
		usual[o.Op] = w.last(o)
	}
	return usual
}

// shortWaits takes the time of many short waits, except for one in each step.
func shortWaits(ev *evidence, t *subject) []claim {
	w, many := ev.shortWaitsOf(t)
	if !many {
		return nil
	}
	lost, calls := make([]uint64, len(w.short)), make([]uint64, len(w.short))
	var longest int
	var total, extra uint64
	for i, o := range w.short {
		n, brief := o.Hist.Below(uint64(maxShortWait))
		calls[i] = min(n, o.Calls)
		extra += calls[i]
		lost[i] = min(t.unattributed.ops[o.Op], brief)
		total += lost[i]
		if w.last(o) > w.last(w.short[longest]) {
			longest = i
		}
	}
	all := extra
	// no other call waits for the step's work
	if float64(w.long) < w.steps/2 && w.last(w.short[longest]) <= uint64(maxShortWait) {
		keep := min(lost[longest], uint64(w.steps*float64(w.last(w.short[longest]))))
		lost[longest] -= keep
		total -= keep
		extra -= min(extra, uint64(w.steps))
	}
	if percent(total, t.unattributed.room) < minShortPct {
		return nil
	}
	var claims []claim
	for i, o := range w.short {
		n := uint64(float64(extra) * share(calls[i], all))
		claims = append(claims,
			ev.calls.aggregateClaims(t, o, event.CauseImplicitSync, event.Other, t.take(o, lost[i]), n)...)
	}
	return claims
}

var causeImplicitSync = cause{
	kind:           event.CauseImplicitSync,
	settings:       []string{launchBlocking},
	takes:          onCPU | waitsOnGPU,
	claimAggregate: aggregateImplicitSyncs,
	gpuSide:        true,
	describe:       describeImplicitSync,
}

// aggregateImplicitSyncs takes the short waits, or else the waits that come earlier than before.
func aggregateImplicitSyncs(ev *evidence, t *subject) []claim {
	if claims := shortWaits(ev, t); claims != nil {
		return claims
	}
	return aggregateEarlyWaits(ev, t)
}

func describeImplicitSync(ev *evidence, f *finding, c *report.Chain) {
	if f.worst.class == event.OnCPU {
		w := ev.early[f.sub.Thread]
		w.describe(ev, f, c)
		return
	}
	w, _ := ev.shortWaitsOf(f.sub)
	e := c.Effect
	per := func(calls uint64) string { return report.Number(float64(calls) / w.steps) }
	c.Summary = fmt.Sprintf("%s lost %s in short waits for the GPU: %s %s, most of them %s of %s",
		f.process(ev), f.pct(), per(w.calls), w.unit, e.Op, span(e.P50NS))
	var ops []string
	for _, o := range w.short {
		ops = append(ops, per(o.Calls)+" "+o.Op.String()+size(o))
	}
	c.Cause.Detail = fmt.Sprintf("%s %s; while the thread waits it launches nothing, and then the GPU waits for it. "+
		"All waits of a step but the longest are counted as lost; without them, the time that the GPU works would remain",
		strings.Join(ops, ", "), w.unit)
	site := ev.calls.site(f)
	if site != "" {
		c.Cause.Detail += "; called from " + site
		site = " in " + site
	}
	c.Path = []report.Step{f.step(ev, "blocked",
		"the GPU, "+report.Count(uint64(f.sample))+" times more than a wait a step", f.lost)}
	if f.claims.op().op.Role() == event.RoleCopy {
		c.Recommendations = []string{
			fmt.Sprintf("copy results back once a step%s: gather them on the device, then one cudaMemcpyAsync to page-locked "+
				"memory and one synchronisation", site),
		}
		c.Recommendations = append(c.Recommendations, ev.procs.advise(f.sub.PID, []string{"op", e.Op}, adviceSyncCopy)...)
		return
	}
	c.Recommendations = []string{
		fmt.Sprintf("wait once a step instead of calling %s%s after every few kernels: work in one stream stays in order, "+
			"and cudaStreamWaitEvent orders streams without the CPU", e.Op, site),
	}
	advice := ev.procs.advise(f.sub.PID, []string{"pid", itoa(f.sub.PID)}, adviceSync)
	c.Recommendations = append(c.Recommendations, advice...)
}

// size formats the mean size of an operation's copies.
func size(o *store.OpStat) string {
	if o.Op.Role() != event.RoleCopy || o.Bytes < o.Calls {
		return ""
	}
	return " of " + report.Bytes(o.Bytes/o.Calls)
}
