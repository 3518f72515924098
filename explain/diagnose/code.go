package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/code"
	"github.com/ingero-io/ingero/explain/report"
)

// Time on a CPU is named by the code that ran: threads are sampled where that is worth knowing (event.CodeSample).

// codeBetween returns which code a thread ran between calls, or in calls of an operation if op is not 0, in a span of
// Unix ns; nil if it was not sampled there, or not often enough.
func (ev *evidence) codeBetween(t event.Thread, op event.Op, from, to uint64) *report.Code {
	return ev.codeOf(func(s *event.CodeSample) bool { return s.Thread == t && s.Op == op && s.At >= from && s.At < to })
}

// codeOfCause returns which code the threads ran that a thread waited for, or that had its CPU, meanwhile; nil as
// codeBetween.
func (ev *evidence) codeOfCause(f *finding) *report.Code {
	if len(ev.in.CodeSamples) == 0 {
		return nil
	}
	type stretch struct{ from, to uint64 }
	ran := map[event.Thread][]stretch{}
	blamed := ev.blamed(f)
	for _, cl := range f.claims {
		if cl.followed() {
			l := cl.last()
			ran[l.Thread] = append(ran[l.Thread], stretch{l.From, l.To})
			continue
		}
		for _, o := range cl.waits() {
			for _, c := range o.Culprits {
				if blamed(c.PID) {
					ran[c.Thread] = append(ran[c.Thread], stretch{o.Start, o.Start + o.Duration})
				}
			}
		}
	}
	return ev.codeOf(func(s *event.CodeSample) bool {
		return slices.ContainsFunc(ran[s.Thread], func(x stretch) bool { return s.At >= x.from && s.At < x.to })
	})
}

// blamed tells which of the processes that had a thread's CPU the finding names: the first, and if that is one of its
// program's workers, all of these. What others ran meanwhile says nothing about them.
func (ev *evidence) blamed(f *finding) func(pid uint32) bool {
	list := f.contention.ranked(&ev.procs)
	if len(list) == 0 {
		return func(uint32) bool { return true }
	}
	top, owner := list[0].PID, f.sub.PID
	return func(pid uint32) bool {
		return pid == top || top != owner && pid != owner && ev.procs.worksFor(top, owner) && ev.procs.worksFor(pid, owner)
	}
}

// sampledEvery is about how long after the last one the next sample of a CPU is taken, ns: see event.CodeSample.
const sampledEvery = 18_000_000

// minInSyscalls is the least share of a loss in a thread's own calls that samples have to stand for.
const minInSyscalls = 0.2

// nameCauseCode says which code the threads ran that a finding blames; of a loss in a thread's own calls, which system
// calls these made, as nothing else is sampled there.
func (ev *evidence) nameCauseCode(f *finding, c *report.Chain) {
	if f.cause.saysCode {
		return
	}
	ev.nameWaits(f, c)
	if c.Cause.Code = ev.codeOfCause(f); c.Cause.Code != nil {
		c.Cause.Detail = "of its time on a CPU meanwhile " + c.Cause.Code.Words() + "; " + c.Cause.Detail
		return
	}
	if c.Cause.Code = ev.codeOfListed(f.claims.rootWaits()); c.Cause.Code != nil {
		c.Cause.Detail = "it waited meanwhile " + c.Cause.Code.Words() + "; " + c.Cause.Detail
		return
	}
	at := f.claims.op()
	if f.worst.followed() || !at.call {
		return
	}
	in := ev.codeBetween(f.sub.Thread, at.op, ev.from, ev.to)
	if in != nil && in.Syscall != "" && float64(in.Samples*sampledEvery) >= minInSyscalls*float64(f.lost) {
		c.Cause.Code = in
		c.Cause.Detail = "of its time in system calls there " + in.Words() + "; " + c.Cause.Detail
	}
}

// nameWaits says where in its code the thread waited that lost time between calls.
func (ev *evidence) nameWaits(f *finding, c *report.Chain) {
	if c.Effect.Waits = ev.codeOfListed(f.claims.ownWaits()); c.Effect.Waits != nil {
		c.Cause.Detail += "; " + c.Effect.Thread + " waited " + c.Effect.Waits.Words()
	}
}

// ownWaits returns the waits of the thread itself between calls.
func (l claimList) ownWaits() (rows []*event.OffCPU) {
	for _, cl := range l {
		switch {
		case cl.acc.Call != nil:
		case cl.row != nil:
			rows = append(rows, cl.row)
		default:
			rows = append(rows, cl.acc.Rows...)
		}
	}
	return rows
}

// rootWaits returns the waits of the threads at the end of the chains, if those were followed.
func (l claimList) rootWaits() (rows []*event.OffCPU) {
	for _, cl := range l {
		if cl.followed() {
			rows = append(rows, cl.last().Rows...)
		}
	}
	return rows
}

// codeOf returns which code ran in some samples; nil if there are too few.
func (ev *evidence) codeOf(of func(*event.CodeSample) bool) *report.Code {
	var samples []code.Sample
	var pid uint32
	for i := range ev.in.CodeSamples {
		if s := &ev.in.CodeSamples[i]; !s.Waits && of(s) {
			samples = append(samples, code.Sample{Frames: ev.in.CodeStacks[s.Stack], Syscall: s.Syscall})
			pid = s.PID
		}
	}
	p, ok := code.Find(samples)
	if !ok {
		return nil
	}
	return ev.describeCode(&p, pid)
}

// waitSlack is how far apart a sample of a wait and the begin of that wait may be, ns: two programs in the kernel read
// the clock.
const waitSlack = 100_000

// codeOfWaits returns where in their code threads went to sleep, of the waits for which of is true; nil if too few of
// them were sampled, or if they were at different places.
func (ev *evidence) codeOfWaits(of func(*event.OffCPU) bool) *report.Code {
	var samples []code.Sample
	var pid uint32
	for i := range ev.in.CodeSamples {
		s := &ev.in.CodeSamples[i]
		if !s.Waits {
			continue
		}
		for _, o := range ev.procs.x.Overlapping(s.TID, s.At-min(s.At, waitSlack), s.At+waitSlack) {
			if o.Start+waitSlack >= s.At && o.Start <= s.At+waitSlack && o.Syscall == s.Syscall && of(o) {
				samples = append(samples,
					code.Sample{Frames: ev.in.CodeStacks[s.Stack], Syscall: s.Syscall, NS: o.Duration})
				pid = s.PID
				break
			}
		}
	}
	p, ok := code.FindWaits(samples)
	if !ok {
		return nil
	}
	c := ev.describeCode(&p, pid)
	c.Waits = true
	return c
}

// waitKey tells waits apart.
type waitKey struct {
	tid   uint32
	start uint64
}

// codeOfListed is codeOfWaits of waits in a list.
func (ev *evidence) codeOfListed(rows []*event.OffCPU) *report.Code {
	in := map[waitKey]bool{}
	for _, o := range rows {
		in[waitKey{o.TID, o.Start}] = true
	}
	if len(in) == 0 {
		return nil
	}
	return ev.codeOfWaits(func(o *event.OffCPU) bool { return in[waitKey{o.TID, o.Start}] })
}

// describeCode describes code of a process, with the settings that have to do with it.
func (ev *evidence) describeCode(p *code.Place, pid uint32) *report.Code {
	c := &report.Code{
		Samples: p.Samples, Share: p.Share, Function: report.FunctionName(&p.Function), InKernel: p.Kernel,
	}
	if p.InKernel != (event.Frame{}) {
		c.Kernel = report.FunctionName(&p.InKernel)
	}
	if p.Caller != (event.Frame{}) {
		c.Caller = report.FunctionName(&p.Caller)
	}
	if p.Call != 0 {
		c.Call = p.Call.String()
	}
	if p.Syscall >= 0 {
		c.Syscall = ev.syscall(p.Syscall)
	}
	ev.host.quoteCode(pid, c)
	return c
}

// sleptWords say in which system call a thread slept between calls, in a span of Unix ns: it asked to, so that nobody
// else is to blame.
func (ev *evidence) sleptWords(t event.Thread, from, to uint64) string {
	in := map[int16]uint64{}
	var most int16 = -1
	for i := range ev.in.OffCPU {
		o := &ev.in.OffCPU[i]
		if o.Thread != t || o.Class != event.Sleep || o.Op != 0 || o.Syscall < 0 || o.Start < from || o.Start >= to {
			continue
		}
		if in[o.Syscall] += o.Duration; in[o.Syscall] > in[most] {
			most = o.Syscall
		}
	}
	if most < 0 {
		return " (it sleeps by its own wish)"
	}
	return fmt.Sprintf(" (it sleeps by its own wish, in %s: it polls for something, or waits on purpose)",
		ev.syscall(most))
}

// nameCode says of the parts of a change that are on a CPU which code ran after it.
func (ev *evidence) nameCode(t *subject, c *report.Change) {
	to := ev.to
	if c.UntilNS != 0 {
		to = c.UntilNS
	}
	parts := slices.Clone(c.Parts)
	for i := range parts {
		p := &parts[i]
		switch {
		case p.NS <= 0:
		case p.OnCPU:
			p.Code = ev.codeBetween(t.Thread, p.Op, c.AtNS, to)
		case p.Waited:
			p.Code = ev.codeOfWaits(func(o *event.OffCPU) bool {
				return o.Thread == t.Thread && o.Class == p.Class && o.Op == 0 && o.Start >= c.AtNS && o.Start < to
			})
			if p.Class == event.Sleep {
				p.What += ev.sleptWords(t.Thread, c.AtNS, to)
			}
		}
	}
	if len(parts) > 0 {
		c.Cause = causeOfPart(&parts[0])
	}
	c.Parts, c.Summary = parts, ""
	c.Summary = c.Sentence()
}

// causeOfPart returns the kind of cause of a part of a change, if its state alone says it; empty: it does not, or the
// part did not grow.
func causeOfPart(p *report.ChangePart) string {
	switch {
	case p.NS <= 0 || p.Op != 0:
	case p.OnCPU && p.Code != nil:
		return event.CauseOwnCode
	case p.Waited && slices.Contains([]event.Class{event.RunQueue, event.Throttled, event.BlockIO, event.Fault}, p.Class):
		return p.Class.Cause()
	}
	return ""
}
