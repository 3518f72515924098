package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// causeHang takes no time of a thread: the call has not ended. It is not in the list causes.
var causeHang = cause{kind: event.CauseHang, foremost: true}

// When a call that has not returned is reported as hanging: it must have lasted much longer than
// any call of the operation before. If there are too few to compare with, it must be old; the limit
// is higher if it computes, reads a file or is in the driver, as it is while code is loaded.
// Threads that wait for each other need no comparison.
const (
	hangTimes = 10             // times the longest of the operation's calls
	hangCalls = 10             // least calls to compare with
	hangAge   = 10_000_000_000 // ns, of a thread that waits, without a comparison
	busyAge   = 60_000_000_000 // ns, of one that may be loading
)

// inFlightCall is a call in flight, and the threads that it waits for.
type inFlightCall struct {
	*event.InFlight
	chain []*event.InFlight // the holder of what it waits for, the holder of what that one waits for, …
	cycle bool              // the last one waits for an earlier one, or for the call itself
}

// readInFlight finds the calls that had not returned at the end of the window.
func (ev *evidence) readInFlight() {
	threads := map[event.Thread]*event.InFlight{}
	for i := range ev.in.InFlight {
		f := &ev.in.InFlight[i]
		if f.Outcome == event.StillInFlight || f.Outcome == event.Died {
			if o := threads[f.Thread]; o == nil || o.At < f.At {
				threads[f.Thread] = f
			}
		}
	}
	for _, f := range threads {
		if f.Op == 0 || f.Age() < uint64(minFlight) {
			continue
		}
		ev.inFlightCalls = append(ev.inFlightCalls, follow(f, threads))
	}
	slices.SortFunc(ev.inFlightCalls, func(a, b inFlightCall) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
	})
}

// minFlight is the age from which calls in flight are reported, ns.
const minFlight = 1_000_000_000

// follow goes from a thread to the holder of the lock it waits for, and on from there.
func follow(f *event.InFlight, threads map[event.Thread]*event.InFlight) inFlightCall {
	r := inFlightCall{InFlight: f}
	seen := map[event.Thread]bool{f.Thread: true}
	for at := f; at.Doing == event.Blocked && at.Holder.TID != 0; {
		if seen[at.Holder] {
			r.cycle = true
			break
		}
		next := threads[at.Holder]
		if next == nil {
			break
		}
		seen[next.Thread] = true
		r.chain = append(r.chain, next)
		at = next
	}
	return r
}

// hangs reports whether a call in flight has lasted much longer than its operation ever takes.
func (cs *callStats) hangs(f *inFlightCall) bool {
	if f.cycle {
		return true
	}
	calls, longest := cs.usually(f)
	if calls >= hangCalls {
		return f.Age() >= hangTimes*longest
	}
	busy := f.Doing == event.Running || f.Class == event.BlockIO || f.Class == event.Ioctl || f.Class == event.Fault
	if busy && f.Op.Role() != event.RoleSync {
		return f.Age() >= busyAge
	}
	return f.Age() >= hangAge
}

// usually returns how many calls of the operation returned in the process, and how long the longest
// took, ns. They may be from before the window: a short window may have begun after the call.
func (cs *callStats) usually(f *inFlightCall) (calls, longest uint64) {
	ops := cs.in.before()
	for i := range ops {
		if o := &ops[i]; o.PID == f.PID && o.Op == f.Op {
			calls, longest = calls+o.Calls, max(longest, o.MaxNS)
		}
	}
	return calls, longest
}

// before returns the statistics that calls in flight are compared with.
func (in *Input) before() []store.OpStat {
	if in.Before != nil {
		return in.Before
	}
	return in.Ops
}

// inFlight lists the calls that had not returned, and makes a chain for each one that hangs.
func (ev *evidence) inFlight() (list []report.InFlight, chains []report.Chain) {
	for i := range ev.inFlightCalls {
		f := &ev.inFlightCalls[i]
		stack := []string{}
		if st, ok := ev.in.Stacks[f.Stack]; ok {
			stack = recording.Frames(&st)
		}
		r := report.InFlight{
			Op: f.Op.String(), Process: ev.procs.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm),
			SinceNS: f.Start, AgeNS: f.Age(), Doing: f.Doing.String(), WaitsFor: printable(f.Waits()), File: printable(f.File),
			Outcome: f.Outcome.String(), Stack: stack, Hangs: ev.calls.hangs(f),
		}
		if f.Inner != 0 {
			r.Inner = f.Inner.String()
		}
		if f.Doing == event.Blocked {
			r.Class = f.Class.String()
		}
		if f.Holder.TID != 0 {
			r.HolderTID, r.Holder = f.Holder.TID, printable(f.HolderComm)
		}
		list = append(list, r)
		if r.Hangs {
			chains = append(chains, ev.hang(f, stack))
		}
	}
	return list, chains
}

// hang makes the chain of a call that hangs.
func (ev *evidence) hang(f *inFlightCall, stack []string) report.Chain {
	in := f.Age() - min(f.Age(), after(ev.from, f.Start)) // its time within the window
	c := ev.newChain(event.CauseHang, fmt.Sprintf("%d|%d|%d|%d", f.PID, f.TID, f.Op, f.Start), event.SeverityHigh,
		ev.procs.hangEffect(f))
	c.ExplainedPct = round(percent(f.sameNS(), max(after(f.At, f.Start), 1)))
	c.LostNS, c.LostPct = in, round(percent(in, max(ev.to-min(ev.from, ev.to), in)))
	c.Evidence = report.Evidence{EventIDs: []string{ev.eventID(f.Thread, f.Start, "")}, Sample: 1}
	c.Stack = stack
	root := f.InFlight
	if n := len(f.chain); n > 0 && !f.cycle {
		root = f.chain[n-1]
	}
	c.Cause = report.Cause{
		Kind: event.CauseHang, Process: ev.procs.name(root.PID, root.Comm), PID: root.PID, TID: root.TID,
		Thread: printable(root.Comm),
	}
	if f.Outcome == event.Died {
		c.Summary = fmt.Sprintf("a thread of %s ended after %s in %s: %s", ev.procs.name(f.PID, ""), span(f.Age()), f.Op,
			ev.waiting(f))
	} else {
		c.Summary = fmt.Sprintf("%s hangs in %s for %s: %s", ev.procs.name(f.PID, ""), f.Op, span(f.Age()), ev.waiting(f))
	}
	c.Cause.Detail = ev.calls.hangDetail(f)
	c.Path = ev.procs.hangPath(f)
	c.Recommendations = ev.gpus.hangFix(f)
	ev.gpus.describeXid(f, &c)
	c.Owners = ev.procs.owners(&c)
	return c
}

func after(a, b uint64) uint64 { return a - min(a, b) }

// sameNS returns how much of the call's time the thread spent in the state it is in now, ns.
func (f *inFlightCall) sameNS() uint64 {
	switch f.Doing {
	case event.Running:
		return f.OnCPU
	case event.Runnable:
		return f.NS[event.RunQueue] + f.NS[event.Throttled]
	}
	return f.NS[f.Class]
}

// waiting says what the thread does, and what the last thread of the chain does.
func (ev *evidence) waiting(f *inFlightCall) string {
	w := printable(f.Waits())
	switch {
	case f.cycle:
		w += ", which waits for " + ev.cycleEnd(f)
	case len(f.chain) > 0:
		last := f.chain[len(f.chain)-1]
		w += ", which is " + printable(last.Waits())
		if op := cmp.Or(last.Op, last.Inner); op != 0 {
			w += " in " + op.String()
		}
	}
	return w
}

func (ev *evidence) cycleEnd(f *inFlightCall) string {
	if len(f.chain) == 1 {
		return "this thread: a deadlock"
	}
	return fmt.Sprintf("a lock of one of the %d threads before it: a deadlock", len(f.chain))
}

func (ps *processes) hangEffect(f *inFlightCall) report.Effect {
	e := report.Effect{
		Op: f.Op.String(), Process: ps.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm), SlowCalls: 1,
		MaxNS: f.Age(),
	}
	var usual stats.Histogram // of all threads: one that hangs may have made no other call
	for i := range ps.in.Ops {
		if o := &ps.in.Ops[i]; o.PID == f.PID && o.Op == f.Op {
			e.Calls += o.Calls
		}
	}
	ops := ps.in.before()
	for i := range ops {
		if o := &ops[i]; o.PID == f.PID && o.Op == f.Op && o.Hist != nil {
			usual.Merge(o.Hist)
		}
	}
	quantiles(&e, &usual)
	e.Calls++
	return e
}

func (cs *callStats) hangDetail(f *inFlightCall) string {
	calls, longest := cs.usually(f)
	d := "nothing to compare it with: no call of this operation returned"
	if calls > 0 {
		d = fmt.Sprintf("%s of this operation returned, the longest after %s",
			plural(int(min(calls, 1<<31-1)), "call", "calls"), span(longest))
	}
	if f.Inner != 0 {
		d = fmt.Sprintf("inside it the thread is in %s; %s", f.Inner, d)
	}
	d += fmt.Sprintf("; since the call began the thread was on a CPU for %s", span(f.OnCPU))
	if f.Doing == event.Blocked {
		d += fmt.Sprintf(" and waited like this for %s, the last %s without a break", span(f.NS[f.Class]),
			span(after(f.At, f.Since)))
	}
	if f.Doing != event.Blocked && f.Op.Role() == event.RoleSync {
		d += "; CUDA waits for the GPU like this"
	}
	switch f.Outcome {
	case event.Died:
		d += "; then its thread ended, in the call"
	case event.StillInFlight:
		d += "; it had not returned when it was seen last"
	}
	return d
}

func (ps *processes) hangPath(f *inFlightCall) []report.Step {
	steps := []report.Step{{
		Layer: f.Op.Source().String(), Process: ps.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm),
		State: f.Doing.String(), On: on(f.InFlight), NS: f.Age(),
	}}
	for _, h := range f.chain {
		layer := event.SourceHost
		if op := cmp.Or(h.Op, h.Inner); op != 0 {
			layer = op.Source()
		}
		steps = append(steps, report.Step{
			Layer: layer.String(), Process: ps.name(h.PID, h.Comm), PID: h.PID, TID: h.TID, Thread: printable(h.Comm),
			State: h.Doing.String(), On: on(h), NS: after(h.At, h.Since),
		})
	}
	return steps
}

// on returns what a link of the path waits for.
func on(f *event.InFlight) string {
	switch f.Doing {
	case event.Blocked:
		w := f.Class.String()
		if f.Holder.TID != 0 {
			w += fmt.Sprintf(" %#x held by tid %d", f.Futex, f.Holder.TID)
		} else if f.File != "" {
			w += " " + f.File
		}
		return printable(w)
	case event.Running:
		if f.Op != 0 {
			return f.Op.String()
		}
		return "a CPU"
	}
	return "a CPU"
}

func (gs *gpuReadings) hangFix(f *inFlightCall) []string {
	var fix []string
	switch {
	case f.cycle:
		fix = append(fix, "take these locks in the same order in every thread, or release the one before waiting for the "+
			"other; the stacks of both threads: select * from calls_in_flight, lock_holders")
	case len(f.chain) > 0:
		last := f.chain[len(f.chain)-1]
		fix = append(fix, fmt.Sprintf("see what %s (tid %d) does while it holds the lock: ingero query \"select f.depth, "+
			"f.symbol, f.module from lock_holders h join stack_frames f on f.stack_hash = h.stack_hash where h.tid = %[2]d "+
			"order by f.depth\"", printable(last.Comm), last.TID))
	case f.Doing == event.Blocked && f.Class == event.Futex:
		fix = append(fix, "find who was to wake it: its stack below says what it waits for; a notification that was lost, "+
			"or a thread that died, looks like this")
	case f.File != "" && f.Class != event.Ioctl:
		fix = append(fix, fmt.Sprintf("find who is at the other end of %s, and why it does not answer: ls -l /proc/*/fd | "+
			"grep, ss -xp", printable(f.File)))
	}
	alone := len(f.chain) == 0 && !f.cycle
	if f.Op.Role() == event.RoleSync && alone && gs.xidOf(f) == nil {
		fix = append(fix, "the GPU did not finish: look for an Xid in the kernel's log (dmesg | grep -i xid), and at "+
			"nvidia-smi for whether it still works on something")
	}
	if alone && (f.Op.Role() == event.RoleSync || f.Op.Source() == event.SourceNCCL) {
		fix = append(fix, "where several processes work together, find the one that did not reach the same collective: "+
			"run ingero there too; with NCCL, NCCL_DEBUG=INFO and a timeout (TORCH_NCCL_ASYNC_ERROR_HANDLING=1) name it")
	}
	return append(fix, fmt.Sprintf("where it is in the code: ingero query \"select f.depth, f.kind, f.symbol, f.file, "+
		"f.line, f.module from calls_in_flight c join stack_frames f on f.stack_hash = c.stack_hash where c.tid = %d "+
		"order by f.depth\"", f.TID))
}
