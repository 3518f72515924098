package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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

// silentAge is for how long a thread must have made no call to be reported, ns. That is only done if it cannot go on: a
// server without requests is silent, too.
const silentAge = 5_000_000_000

// inFlightCall is a call in flight, or a thread that makes none any more, and the threads that it waits for.
type inFlightCall struct {
	*event.InFlight
	chain []*event.InFlight // who holds what it waits for, or has the other end; of what that one waits for, …
	cycle bool              // the last one waits for an earlier one, or for the call itself
	gil   bool              // the last one waits for Python's interpreter lock, which the call's thread seems to hold
}

// last is the thread at the end of the chain.
func (f *inFlightCall) last() *event.InFlight {
	if n := len(f.chain); n > 0 {
		return f.chain[n-1]
	}
	return f.InFlight
}

// op names the call.
func (f *inFlightCall) op() string {
	if f.Silent {
		return betweenCalls
	}
	return f.Op.String()
}

// readInFlight finds the calls that had not returned at the end of the window, and threads that were silent then.
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
		if f.Op == 0 && !f.Silent || f.Age() < uint64(minFlight) {
			continue
		}
		r := follow(f, threads)
		last := r.last()
		r.gil = !r.cycle && len(r.chain) > 0 && last.PID == f.PID && ev.waitsForGIL(last) && ev.runsPython(f)
		ev.inFlightCalls = append(ev.inFlightCalls, r)
	}
	slices.SortFunc(ev.inFlightCalls, func(a, b inFlightCall) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
	})
}

// minFlight is the age from which calls in flight are reported, ns.
const minFlight = 1_000_000_000

// follow goes from a thread to the holder of the lock that it waits for, or to the process at the other end of its
// pipe, and on from there.
func follow(f *event.InFlight, threads map[event.Thread]*event.InFlight) inFlightCall {
	r := inFlightCall{InFlight: f}
	seen := map[event.Thread]bool{f.Thread: true}
	for at := f; at.Doing == event.Blocked; {
		behind := cmp.Or(at.Holder.TID, at.Peer.TID)
		next := threads[event.Thread{PID: cmp.Or(at.Holder.PID, at.Peer.PID), TID: behind}]
		if next != nil && seen[next.Thread] {
			r.cycle = at.Holder.TID != 0 // another thread may write into a pipe
			break
		}
		if behind == 0 || next == nil {
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

// standsStill reports whether a silent thread cannot go on, and its process has made no call for long.
func (ev *evidence) standsStill(f *inFlightCall) bool {
	return (f.cycle || f.last().Stuck) && min(f.At, ev.to) >= f.Start+silentAge && !ev.calls.callsAfter(f.PID, f.Start)
}

// callsAfter reports whether a process made calls in a second after a time, Unix ns.
func (cs *callStats) callsAfter(pid uint32, at uint64) bool {
	for k, seconds := range cs.series {
		if k.PID == pid && slices.ContainsFunc(seconds, func(s store.OpSecond) bool {
			return s.Calls > 0 && s.Second*uint64(time.Second) > at
		}) {
			return true
		}
	}
	return false
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
		hangs := f.Silent || ev.calls.hangs(f)
		if f.Silent && !ev.standsStill(f) {
			continue
		}
		stack := []string{}
		if st, ok := ev.in.Stacks[f.Stack]; ok {
			stack = recording.Frames(&st)
		}
		r := report.InFlight{
			Op: f.op(), Process: ev.procs.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm),
			SinceNS: f.Start, AgeNS: f.Age(), Doing: f.Doing.String(), WaitsFor: printable(f.Waits()), File: printable(f.File),
			Outcome: f.Outcome.String(), Stack: stack, Hangs: hangs,
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
	if !f.cycle {
		root = f.last()
	}
	c.Cause = report.Cause{
		Kind: event.CauseHang, Process: ev.procs.name(root.PID, root.Comm), PID: root.PID, TID: root.TID,
		Thread: printable(root.Comm),
	}
	switch {
	case f.Silent:
		c.Summary = fmt.Sprintf("%s hangs and makes no CUDA call for %s: %s", ev.procs.name(f.PID, ""), span(f.Age()),
			ev.waiting(f))
	case f.Outcome == event.Died:
		c.Summary = fmt.Sprintf("a thread of %s ended after %s in %s: %s", ev.procs.name(f.PID, ""), span(f.Age()), f.Op,
			ev.waiting(f))
	default:
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
	if len(f.chain) == 0 && ev.waitsForGIL(f.InFlight) {
		w = "blocked on " + interpreterLock
	}
	switch {
	case f.gil:
		w += ", which waits for " + interpreterLock + ", and this thread, in the middle of Python's code, seems to hold " +
			"that: a deadlock"
	case f.cycle:
		w += ", which waits for " + ev.cycleEnd(f)
	case len(f.chain) > 0:
		last := f.chain[len(f.chain)-1]
		if ev.waitsForGIL(last) {
			return w + ", which waits for " + interpreterLock
		}
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
		Op: f.op(), Process: ps.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm), SlowCalls: 1,
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
	if f.Silent {
		d = "its last call returned at " + time.Unix(0, int64(f.Start)).UTC().Format(time.TimeOnly) + " UTC"
	}
	if f.Inner != 0 {
		d = fmt.Sprintf("inside it the thread is in %s; %s", f.Inner, d)
	}
	begun := "the call began"
	if f.Silent {
		begun = "then"
	}
	d += fmt.Sprintf("; since %s the thread was on a CPU for %s", begun, span(f.OnCPU))
	if f.Doing == event.Blocked {
		d += fmt.Sprintf(" and waited like this for %s, the last %s without a break", span(f.NS[f.Class]),
			span(after(f.At, f.Since)))
	}
	if f.Doing != event.Blocked && f.Op.Role() == event.RoleSync {
		d += "; CUDA waits for the GPU like this"
	}
	switch {
	case f.Silent && f.Outcome == event.Died:
		d += "; then its thread ended"
	case f.Silent:
		d += "; so it was when it was seen last"
	case f.Outcome == event.Died:
		d += "; then its thread ended, in the call"
	case f.Outcome == event.StillInFlight:
		d += "; it had not returned when it was seen last"
	}
	return d
}

func (ps *processes) hangPath(f *inFlightCall) []report.Step {
	layer := event.SourceHost
	if !f.Silent {
		layer = f.Op.Source()
	}
	steps := []report.Step{{
		Layer: layer.String(), Process: ps.name(f.PID, ""), PID: f.PID, TID: f.TID, Thread: printable(f.Comm),
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
