package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
)

// Diagnose explains a recording of one machine.
func Diagnose(in *Input) *report.Report { return DiagnoseMachines([]*Input{in}) }

// report makes the report of everything that was found.
func (ev *evidence) report() *report.Report {
	in := ev.in
	r := &report.Report{
		Schema: report.Schema, DB: in.DB, Node: in.Node,
		Window: report.Window{FromNS: ev.from, ToNS: ev.to, Note: in.Note},
		Events: ev.calls.outermostCalls(), Lost: event.LossCounts(in.Losses),
		Chains: []report.Chain{}, NotExplained: []report.NotExplained{},
	}
	worst, few := 0.0, 0
	r.InFlight, r.Chains = ev.inFlight()
	if r.Chains == nil {
		r.Chains = []report.Chain{}
	}
	for _, f := range ev.list {
		worst = max(worst, f.lostPct())
		if f.rank.within != nil {
			continue
		}
		if !f.reportable(ev) {
			if f.lostPct() >= f.leastPct(ev) {
				few += f.sample
			}
			continue
		}
		if !f.explains(ev) {
			r.NotExplained = append(r.NotExplained, f.notExplained(ev))
		} else {
			r.Chains = append(r.Chains, f.chain(ev, ev.all))
		}
	}
	for i := range ev.heaps.leaks {
		r.Chains = append(r.Chains, ev.heaps.leaks[i].chain(ev))
	}
	r.Chains = append(r.Chains, ev.graphFaults()...)
	r.Chains = append(r.Chains, ev.misplacements()...) // last: they lose no time
	slices.SortStableFunc(r.Chains, worstFirst)
	r.Idle, r.QueueWaits = ev.idleThreads(), ev.queueWaits()
	r.Ended = ev.procs.ended()
	r.GPUErrors, r.RankEvents = ev.gpuErrors(), in.rankEvents()
	r.Workloads, r.Changes = ev.workloads(), ev.changes(r.Chains)
	if in.PerProcess {
		r.Processes = ev.processes()
	}
	r.Footprint = in.Footprint
	r.Notes = ev.notes()
	r.StoredChains = storedChains(in)
	r.Verdict = ev.verdict(r, worst, few)
	return r
}

// worstFirst orders chains by severity alone. The sort is stable: chains of equal severity stay
// ordered by lost time, those without lost time last.
func worstFirst(a, b report.Chain) int {
	return event.CompareSeverity(a.Severity, b.Severity)
}

// find finds the lost time of all threads.
func (ev *evidence) find() {
	for _, t := range ev.subjects {
		ev.all = append(ev.all, ev.findings(t)...)
	}
	sortFindings(ev.all)
	for _, f := range ev.all {
		f.sub.lost += f.lost
		if !f.cause.gpuSide && !f.cause.unexplained {
			f.sub.lostOnHost += f.lost
		}
	}
	ev.list = ev.merge(ev.all)
}

// often says when a loss that happened in one stretch is reported per step: if it is in one of so
// many steps, or more. A single stall says nothing about the next step.
const often = 10

// chain describes a finding. all are all findings, for alternatives.
func (f *finding) chain(ev *evidence, all []*finding) report.Chain {
	f.sort()
	c := ev.newChain(f.kind, f.idKey(ev), f.severity(ev), f.effect(ev))
	c.ExplainedPct, c.LostNS, c.LostPct = round(f.explainedPct(ev)), f.lost, round(f.lostPct())
	c.Cause, c.Evidence, c.Stack = f.reportCause(ev), f.reportEvidence(ev), ev.stack(f)
	c.Also, c.Culprits, c.Rest = f.also(ev), f.culprits(ev), f.unexplained(ev)
	c.Pattern = f.pattern(ev)
	c.Alternatives = f.alternatives(all)
	if n := f.perStep(f.sub); n != nil && !f.loading &&
		(c.Pattern == nil || c.Pattern.Kind != pattern.Once || n.Affected >= n.Steps/often) {
		c.PerStep, c.WhatIf = n, f.whatIf(ev)
	}
	if f.cause.describe != nil {
		f.cause.describe(ev, f, &c)
	}
	describeOwn(ev, f, &c)
	ev.nameCauseCode(f, &c)
	ev.quoteCause(f, &c)
	c.Cause.Detail += f.stretchWords(ev) + f.others.words(&ev.procs, f.process(ev))
	if w := ev.lossNote(); w != "" {
		c.Cause.Detail += "; " + w
	}
	c.Counter = ev.gpus.busyMeanwhile(f)
	c.Owners = ev.procs.owners(&c)
	return c
}

func (f *finding) reportCause(ev *evidence) report.Cause {
	at, t := ev.resolveThread(f.root())
	return report.Cause{
		Kind: f.kind, Process: at.procs.name(t.PID, at.procs.comm(t)), PID: t.PID, TID: t.TID, Thread: at.procs.comm(t),
		Node: ev.machineOf(at),
	}
}

// idKey returns the same text whenever the same thread loses time to the same cause.
func (f *finding) idKey(ev *evidence) string {
	at, t := ev.resolveThread(f.Thread)
	kind := f.kind
	if f.parts.several() {
		at, t, kind = ev, event.Thread{}, ev.placeKey(f)+cpuList(f.contention.cpus)
	}
	if f.loading {
		kind += " loading"
	}
	return fmt.Sprintf("%s|%d|%d|%d|%d|%v%s", kind, f.sub.PID, f.sub.TID, t.PID, t.TID, f.worst.through(),
		ev.machineOf(at))
}

// stack returns the stack of the call that lost most, of those that have one: of the calls that the
// finding names, if one of them has a stack.
func (ev *evidence) stack(f *finding) []string {
	named := f.claims.op()
	var other *event.Stack
	for _, cl := range f.claims {
		if cl.acc.Call == nil || cl.acc.Call.Stack == 0 {
			continue
		}
		st, ok := ev.in.Stacks[cl.acc.Call.Stack]
		switch {
		case !ok:
		case placeOf(cl.acc) == named:
			return recording.Frames(&st)
		case other == nil:
			other = &st
		}
	}
	if other != nil {
		return recording.Frames(other)
	}
	return []string{}
}

func (f *finding) notExplained(ev *evidence) report.NotExplained {
	f.sort()
	n := report.NotExplained{
		Effect: f.effect(ev), LostNS: f.lost, LostPct: round(f.lostPct()), ExplainedPct: round(f.explainedPct(ev)),
		Why: f.missing(),
	}
	if w := ev.lossNote(); w != "" {
		n.Why += "; " + w
	}
	return n
}

// missing says what is missing for an explanation.
func (f *finding) missing() string {
	if f.cause.why != nil {
		return f.cause.why(f)
	}
	return fmt.Sprintf("looks like %s, but the evidence covers %s of %s", f.kind, span(f.explained), span(f.lost))
}

// lossNote says which records were dropped; empty if they are too few to matter.
func (ev *evidence) lossNote() string {
	if ev.missing < 0.001 {
		return ""
	}
	var counts [event.NumLossKinds]uint64
	for _, l := range ev.in.Dropped {
		if l.Kind < event.NumLossKinds {
			counts[l.Kind] += l.Count
		}
	}
	var parts []string
	for k, n := range counts {
		if info := event.Losses[k]; n > 0 && event.LossKind(k).Counts() {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, info.Unit, info.Name))
		}
	}
	return fmt.Sprintf("%.1f %% of the records were dropped: %s", ev.missing*100, strings.Join(parts, ", "))
}

// mostLost returns the most that a chain lost, ns.
func mostLost(chains []report.Chain) (ns uint64) {
	for i := range chains {
		ns = max(ns, chains[i].LostNS)
	}
	return ns
}

// verdict returns the report in one line.
func (ev *evidence) verdict(r *report.Report, worst float64, few int) string {
	switch {
	case len(ev.subjects) == 0 && len(r.Chains) == 0 && len(r.InFlight) > 0:
		f := r.InFlight[0]
		return fmt.Sprintf("no CUDA call returned in this window; %s has been in %s for %s", f.Process, f.Op, span(f.AgeNS))
	case len(ev.subjects) == 0 && ev.in.Footprint != nil:
		return ev.in.Footprint.Verdict()
	case len(ev.subjects) == 0 && len(r.Chains) == 0:
		return "nothing to explain: no CUDA call was recorded in this window"
	case changeVerdict(r.Changes, mostLost(r.Chains)) != "" && len(r.Chains) > 0:
		return fmt.Sprintf("%s (and %d more)", changeVerdict(r.Changes, mostLost(r.Chains)), len(r.Chains))
	case len(r.Chains) > 0 && (!causeOf(r.Chains[0].Cause.Kind).lossless || len(r.NotExplained)+len(r.GPUErrors) == 0):
		v := r.Chains[0].Summary
		if n := len(r.Chains) - 1; n > 0 {
			v += fmt.Sprintf(" (and %d more)", n)
		}
		if notes := ev.countedNote(); worst < minPct && len(notes) > 0 {
			v += "; " + notes[0]
		}
		return v
	case changeVerdict(r.Changes, 0) != "":
		return changeVerdict(r.Changes, 0)
	case rankVerdict(r.RankEvents) != "":
		return rankVerdict(r.RankEvents)
	case len(r.NotExplained) > 0:
		n := r.NotExplained[0]
		return fmt.Sprintf("not enough evidence: %s lost %.*f %% of its time and the cause was not recorded",
			n.Effect.Process, decimals(n.LostPct), n.LostPct)
	}
	if len(r.GPUErrors) > 0 {
		v := r.GPUErrors[0].Description
		if n := len(r.GPUErrors) - 1; n > 0 {
			v += fmt.Sprintf(" (and %d more)", n)
		}
		return v
	}
	if v := growthVerdict(r.Changes); v != "" {
		return v
	}
	if few > 0 {
		return fmt.Sprintf("not enough data to judge: %s calls in %s; no cause has %d waits or one stall of %s",
			report.Count(r.Events), span(ev.to-ev.from), minSample, span(uint64(minStall)))
	}
	if ev.in.Legacy != nil {
		return ev.legacyVerdict(r, worst)
	}
	threads := fmt.Sprintf("%d threads", len(ev.subjects))
	if len(ev.subjects) == 1 {
		threads = "1 thread"
	}
	limit := ""
	if len(r.QueueWaits) > 0 {
		q := r.QueueWaits[0]
		limit = fmt.Sprintf("; the GPU is the limit: %s waited for room in its launch queue for %.0f %% of its time",
			q.Process, q.Pct)
	}
	return fmt.Sprintf("nothing wrong: %s calls on %s in %s checked; no cause took more than %.1f %% of a thread's time%s",
		report.Count(r.Events), threads, span(ev.to-ev.from), worst, limit)
}
