package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// CUDA errors that mean that a call is not allowed during a capture (driver_types.h:
// cudaErrorStreamCaptureUnsupported to …WrongThread).
const (
	captureUnsupported = 900
	captureLast        = 908
)

// breaksCapture reports whether a call failed because it is not allowed during a capture.
func breaksCapture(c *event.Call) bool {
	return c.Ret >= captureUnsupported && c.Ret <= captureLast && !strings.HasSuffix(c.Op.GraphStep(), "Capture")
}

// captureBreakers returns the first n calls that were not allowed during a capture.
func captureBreakers(calls []event.Call, n int) []*event.Call {
	var list []*event.Call
	for i := range calls {
		if breaksCapture(&calls[i]) {
			list = append(list, &calls[i])
		}
	}
	slices.SortFunc(list, func(a, b *event.Call) int { return cmp.Compare(a.Start, b.Start) })
	return list[:min(len(list), n)]
}

// captureBreaker is the call that made captures of a process fail, and its caller.
type captureBreaker struct {
	*event.Call
	caller *event.Frame // nil: unknown
	stack  []string
	calls  int // of the same operation that failed the same way
}

// captureBreaker finds the first call that was not allowed during a capture, nil if none is known.
func (cs *callStats) captureBreaker(pid uint32) *captureBreaker {
	var sp *captureBreaker
	for _, c := range captureBreakers(cs.in.Calls, len(cs.in.Calls)) {
		switch {
		case c.PID != pid || c.Depth > 0:
		case sp == nil:
			sp = &captureBreaker{Call: c, calls: 1, stack: []string{}}
		case c.Op == sp.Op:
			sp.calls++
		}
	}
	if sp == nil {
		return nil
	}
	if st, ok := cs.in.Stacks[sp.Stack]; ok {
		sp.stack = recording.Frames(&st)
		i := slices.IndexFunc(st.Frames, func(f event.Frame) bool {
			return f.Kind == event.FrameNative && f.Module != "" && !strings.HasPrefix(f.Module, "libcuda.so") &&
				!strings.HasPrefix(f.Module, "libcudart")
		})
		if i >= 0 {
			sp.caller = &st.Frames[i]
		}
	}
	return sp
}

// sets reports whether the call is typical of initialisation at first use: it allocates, loads
// code, or makes a stream or an event.
func (sp *captureBreaker) sets() bool {
	r := sp.Op.Role()
	return r == event.RoleAlloc || r == event.RoleLoad || r == event.RoleOther
}

// by returns the library that made the call, empty if it was the program itself.
func (sp *captureBreaker) by() string {
	if sp.caller == nil || !strings.HasPrefix(sp.caller.Module, "lib") {
		return ""
	}
	return printable(sp.caller.Module)
}

// words says which call was not allowed, and who made it.
func (sp *captureBreaker) words() string {
	w := fmt.Sprintf("%s is not allowed in one (error %d)", sp.Op, sp.Ret)
	if sp.caller == nil {
		return w
	}
	w += ", and " + printable(sp.caller.Module) + " called it"
	if lib := sp.by(); lib != "" && sp.sets() {
		w += fmt.Sprintf(": if %s initialises itself at its first use, use it once before the capture", lib)
	}
	return w
}

func captureFailed(ev *evidence, g *graphUse) (report.Chain, bool) {
	end := g.ops[captureEnd]
	if end == nil || end.errors == 0 {
		return report.Chain{}, false
	}
	sp := ev.calls.captureBreaker(g.pid)
	if sp == nil {
		return report.Chain{}, false // there is a warning, but no culprit is known
	}
	severity := event.SeverityLow
	if 2*end.errors >= end.calls {
		severity = event.SeverityMedium
	}
	c := ev.graphChain(g, event.CauseGraphCapture, severity, end)
	c.Effect.SlowCalls = end.errors
	c.Evidence.Sample, c.Evidence.EventIDs = sp.calls, []string{ev.eventID(sp.Thread, sp.Start, store.CallEvent)}
	c.Cause.TID, c.Cause.Thread = sp.TID, ev.procs.comm(sp.Thread)
	c.Stack = sp.stack
	c.Summary = fmt.Sprintf("%s of %s graph captures of %s failed, because %s was called in them",
		report.Count(end.errors), report.Count(end.calls), c.Effect.Process, sp.Op)
	c.Cause.Detail = fmt.Sprintf("%s returned error %d in a capture, which does not allow it; who called it is not known",
		sp.Op, sp.Ret)
	if sp.caller != nil {
		c.Cause.Detail = fmt.Sprintf("%s returned error %d in a capture: it was called by %s", sp.Op, sp.Ret,
			printable(sp.caller.String()))
		if sp.sets() {
			c.Cause.Detail += ", as code does that initialises itself when it is used first"
		}
	}
	graphPath(&c, sp.Op, "running", sp.Op.String()+" in a capture", sp.Duration)
	c.Recommendations = ev.procs.captureAdvice(sp, end.most.TID)
	return c, true
}

// captureAdvice says what to do about a failed capture. capturer is the TID of the thread that
// captures.
func (ps *processes) captureAdvice(sp *captureBreaker, capturer uint32) []string {
	what := "what calls " + sp.Op.String()
	switch {
	case sp.by() != "":
		what = sp.by()
	case sp.caller != nil && sp.caller.Symbol != "":
		what = called(sp.caller.Symbol)
	}
	words := []string{"caller", what}
	if sp.TID != capturer {
		return ps.advise(sp.PID, words, adviceCaptureMode)
	}
	fix := []string{}
	if sp.sets() {
		fix = ps.advise(sp.PID, words, adviceCaptureFirst)
	}
	if sp.Op.Role() == event.RoleSync || sp.Op.Role() == event.RoleCopy || sp.Op.Role() == event.RoleFree {
		fix = append(fix, ps.advise(sp.PID, []string{"op", sp.Op.String()}, adviceCaptureSync)...)
	}
	return append(fix, ps.advise(sp.PID, nil, adviceCapturePool)...)
}
