package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Recordings by an earlier Ingero have no ledgers. Their context switches say when a thread was off
// the CPU, but not why. That it was on the CPU is known only if all switches are recorded. Causes
// must not conclude more than that.

// switchSlack extends the time for which a thread's switches count as recorded: so many ns before
// the first and after the last one.
const switchSlack = 200_000_000

var causeUnrecorded = cause{
	kind:         event.CauseUnknown,
	takes:        anyState,
	claimEpisode: claimUnrecorded,
}

// claimUnrecorded takes the time that a recording by an earlier Ingero cannot explain: time that
// may have been on a CPU or off it, and off-CPU time for unknown reasons.
func claimUnrecorded(ev *evidence, a *account) []claim {
	if ev.in.Legacy == nil || a.Call == nil {
		return nil
	}
	var claims []claim
	take := func(c event.Class, why string) {
		if v := a.take(c, a.left[c]); v > 0 {
			claims = append(claims, claim{acc: a, key: key{kind: event.CauseUnknown}, class: c, lost: v, stall: v, why: why})
		}
	}
	take(event.Other, "off the CPU; whether it was preempted or waited, and for what, was not recorded")
	if !switchesSeen(ev.in.Legacy, a.Call, a.left[event.OnCPU]) {
		take(event.OnCPU, "in which the thread may have been on a CPU or off it: its context switches were not recorded then")
	}
	return claims
}

// switchesSeen reports whether a thread's context switches during a call were recorded. Only then
// is the time of the excess that is not off the CPU known to be on it.
func switchesSeen(e *store.Legacy, c *event.Call, excess uint64) bool {
	s, ok := e.Switches[c.Thread]
	switch {
	case !ok:
		return false
	case s.Counted:
		return s.Unlisted <= excess/2
	}
	return c.Start+switchSlack >= s.From && c.End() <= s.To+switchSlack
}

// eventID returns the id of the event that began at the given time, Unix ns.
func (ev *evidence) eventID(t event.Thread, at uint64, kind store.EventKind) string {
	if ev.in.Legacy != nil {
		if id := ev.in.Legacy.IDs[store.CallKey{Thread: t, Start: at}]; id != "" {
			return id
		}
	}
	return store.EventID(ev.in.Node, at, kind)
}

// legacyVerdict says that nothing was found, and what was not recorded.
func (ev *evidence) legacyVerdict(r *report.Report, worst float64) string {
	if s, ok := ev.longestSilence(); ok {
		return s.words(ev)
	}
	return fmt.Sprintf("nothing found: %s in %s checked; no cause took more than %.1f %% of a thread's time inside "+
		"them, and the time between them was not recorded",
		count(r.Events, ""), span(ev.to-ev.from), worst)
}

// storedChains returns each chain that an earlier Ingero recorded, with what the rows of the file
// say about it.
func storedChains(in *Input) []report.StoredChain {
	if in.Legacy == nil {
		return nil
	}
	var list []report.StoredChain
	for i := range in.Legacy.Chains {
		c := &in.Legacy.Chains[i]
		n := report.StoredChain{
			ID: printable(c.ID), Severity: event.Severity(printable(c.Severity)), Summary: printable(c.Summary),
			RootCause:   printable(c.RootCause),
			Explanation: printable(c.Explanation), Op: printable(c.Op), AtNS: c.At, Node: printable(c.Node),
			Recommendations: []string{}, Supported: supported(in, c),
		}
		for _, s := range c.Recommendations {
			n.Recommendations = append(n.Recommendations, printable(s))
		}
		list = append(list, n)
	}
	return list
}

// support is what the rows say about a stored chain: the calls of its operation up to its
// detection. The chain's own percentiles were taken of the same calls.
type support struct {
	calls    uint64 // in the file
	median   uint64 // ns, of the thread with the most calls
	longest  uint64 // ns
	slow     uint64
	excess   uint64 // ns beyond the median, of the slow calls
	covered  uint64 // of the excess, ns that the calling threads were off the CPU
	unlisted uint64 // off-CPU ns that are counted but not recorded one by one
	unseen   uint64 // slow calls of threads whose switches were not recorded
}

// supported says how far the data supports a stored chain.
func supported(in *Input, c *store.StoredChain) string {
	s := supportOf(in, c)
	switch {
	case s.calls == 0:
		return fmt.Sprintf("the file has no %s call from before it, so nothing in it supports this", opName(c))
	case s.slow == 0:
		return fmt.Sprintf("no %s call in the file from before it was slow: %s, median %s, longest %s", opName(c),
			count(s.calls, ""), span(s.median), span(s.longest))
	}
	text := fmt.Sprintf("%s took %s beyond the median", count(s.slow, "slow "+opName(c)+" "), span(s.excess))
	if s.unseen == s.slow {
		return text + "; the context switches of the calling thread were not recorded, so that nothing shows what held it up"
	}
	text += fmt.Sprintf("; the calling thread's own off-CPU time covers %.0f %% of it", percent(s.covered, s.excess))
	if s.unlisted > s.excess/100 {
		text += fmt.Sprintf(" (%s more of such time is counted, but not when it was)", span(s.unlisted))
	}
	return text
}

// opName returns our name of the operation, or else the recorded one.
func opName(c *store.StoredChain) string {
	if c.Call != 0 {
		return c.Call.String()
	}
	return printable(c.Op)
}

// count formats a number of calls; which is empty or ends with a space.
func count(n uint64, which string) string {
	if n == 1 {
		return "1 " + which + "call"
	}
	return report.Count(n) + " " + which + "calls"
}

func supportOf(in *Input, c *store.StoredChain) support {
	nodes := map[uint32]string{}
	for i := range in.Processes {
		nodes[in.Processes[i].PID] = in.Processes[i].Node
	}
	elsewhere := func(pid uint32) bool { return c.Node != "" && nodes[pid] != "" && nodes[pid] != c.Node }
	var s support
	medians := map[event.Thread]uint64{}
	var most uint64
	for i := range in.Ops {
		o := &in.Ops[i]
		if o.Op != c.Call || c.Call == 0 || o.First >= c.At || elsewhere(o.PID) || o.Hist == nil {
			continue
		}
		medians[o.Thread] = min(o.Hist.Quantile(0.5), o.MaxNS)
		s.calls += o.Calls
		s.longest = max(s.longest, o.MaxNS)
		if o.Calls > most {
			most, s.median = o.Calls, medians[o.Thread]
		}
	}
	unlisted := map[uint32]uint64{}
	for i := range in.Calls {
		k := &in.Calls[i]
		median, ok := medians[k.Thread]
		if !ok || k.Op != c.Call || k.Start >= c.At || !store.IsSlow(k.Duration, median) {
			continue
		}
		s.slow++
		s.excess += k.Duration - median
		s.covered += min(k.Ledger.Total(), k.Duration-median)
		sw, ok := in.Legacy.Switches[k.Thread]
		if !ok {
			s.unseen++
		}
		unlisted[k.PID] = sw.Unlisted
	}
	for _, ns := range unlisted {
		s.unlisted += ns
	}
	return s
}
