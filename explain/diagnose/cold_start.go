package diagnose

import (
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeColdStart = cause{
	kind:         event.CauseColdStart,
	takes:        onCPU | waitsOnGPU | only(event.BlockIO, event.Fault),
	claimEpisode: claimColdStart,
	once:         true,
	describe:     describeColdStart,
}

// beginning is how long after its first use of CUDA a process counts as just begun.
const beginning = 500 * time.Millisecond

// first reports whether the call belongs to a cold start: the process's first call of its
// operation, its first launch of a kernel, or a call in its first moments. If the recording began
// before the window, the first call in the window need not be the process's first.
func (ev *evidence) first(c *event.Call) bool {
	if ev.in.First != 0 && ev.from > ev.in.First && ev.procs.born[c.PID] == 0 {
		return false
	}
	if c.Start == ev.calls.firstOp[processOp{c.PID, c.Op}] || ev.calls.kernelLoads[callStart{c.Thread, c.Start}] ||
		c.Op.Role() == event.RoleLoad && ev.calls.loadsOnce(c) {
		return true
	}
	return c.Start < ev.calls.firstUse[c.PID]+uint64(beginning) &&
		c.Op.Role() != event.RoleSync && c.Op.Role() != event.RoleCopy
}

// launchesEachLoad is how many launches there are at least for each load of code in a program that loads what
// it needs once: 1,500 in PyTorch generating text on an H100, 30 in its first second. A program that loads again
// and again may have one in each step.
const launchesEachLoad = 20

// loadsOnce reports whether a process loads code when it is first needed, and not again and again: seldom
// beside its launches, or only before the last quarter of its time.
func (cs *callStats) loadsOnce(c *event.Call) bool {
	if !strings.Contains(c.Op.String(), "Load") {
		return false
	}
	var loads, launches, last, to uint64
	from := ^uint64(0)
	for k, st := range cs.stats {
		if k.PID != c.PID || st.Calls == 0 {
			continue
		}
		from, to = min(from, st.First), max(to, st.Last)
		switch {
		case k.op == c.Op:
			loads, last = loads+st.Calls, max(last, st.Last)
		case k.op.Role() == event.RoleLaunch:
			launches += st.Calls
		}
	}
	return launches > 0 && (loads*launchesEachLoad <= launches || last < to-(to-from)/4)
}

// claimColdStart takes the excess, disk and fault time of first calls: they create contexts, load
// code from disk and compile it.
func claimColdStart(_ *evidence, a *account) []claim {
	if !a.first || a.role == event.RoleSync || a.base > a.Duration/2 {
		return nil
	}
	var v uint64
	for _, c := range append([]event.Class{event.OnCPU, event.BlockIO, event.Fault}, soft...) {
		v += a.take(c, a.left[c])
	}
	if v == 0 {
		return nil
	}
	return []claim{{acc: a, key: key{kind: event.CauseColdStart}, class: event.OnCPU, lost: v, explained: v, stall: v}}
}

func describeColdStart(ev *evidence, f *finding, c *report.Chain) {
	op := c.Effect.Op
	c.Summary = fmt.Sprintf("%s spent %s in its first %s", f.process(ev), span(f.lost), op)
	if len(f.claims) > 1 {
		c.Summary = fmt.Sprintf("%s spent %s in its first calls, %s of it in the first %s", f.process(ev), span(f.lost),
			span(f.worst.lost), op)
	}
	c.Cause.Detail = "first calls create the context and load code"
	if c.Effect.Calls >= minCalls {
		c.Cause.Detail += fmt.Sprintf("; the median %s takes %s", op, span(c.Effect.P50NS))
	}
	if k := ev.calls.kernelOf(f.worst.acc.Call); k != "" {
		c.Cause.Detail = fmt.Sprintf("first launch of %s; %s", k, c.Cause.Detail)
	}
	c.Path = []report.Step{
		f.step(ev, "running", "first "+op, f.lost),
		{
			Layer: "DRIVER", Process: f.process(ev), PID: f.sub.PID, TID: f.sub.TID, Thread: c.Effect.Thread, State: "running",
			On: "context creation and code loading", NS: f.lost,
		},
	}
	c.Recommendations = []string{
		fmt.Sprintf("warm %s up before it counts: call %s once on every device and stream at start", f.process(ev), op),
		"keep compiled code: set CUDA_CACHE_PATH to a disk that survives restarts, or ship code for this GPU's " +
			"architecture instead of PTX",
	}
	if f.lost > uint64(time.Second) {
		c.Recommendations = append(c.Recommendations, "CUDA_MODULE_LOADING=LAZY loads only the kernels that are used")
	}
}
