package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/explain/report"
)

// Order is the order in which the chains of several machines are reported.
type Order struct {
	// Before compares the importance of two chains. Among equal ones, the chain that lost more comes first.
	Before func(a, b report.Chain) int
	// Once says that a chain is about a rank that several machines may have waited for: it is reported once for each
	// rank, by the machine that lost most.
	Once func(*report.Chain) bool
}

// Merge makes one report from the reports of several machines, at least one. It changes the reports: it adds the
// machine's name.
func Merge(list []*report.Report, order Order) *report.Report {
	all := &report.Report{
		Schema: report.Schema, DB: list[0].DB, Window: list[0].Window, Lost: map[string]uint64{},
		Chains: []report.Chain{}, NotExplained: []report.NotExplained{},
	}
	var nodes, verdicts []string
	for _, r := range list {
		if !slices.Contains(nodes, r.Node) {
			nodes = append(nodes, r.Node)
		}
		verdicts = append(verdicts, r.Node+": "+r.Verdict)
		nameMachine(r)
		all.Window.FromNS, all.Window.ToNS = min(all.Window.FromNS, r.Window.FromNS), max(all.Window.ToNS, r.Window.ToNS)
		all.Events += r.Events
		for _, k := range slices.Sorted(maps.Keys(r.Lost)) {
			all.Lost[k] += r.Lost[k]
		}
		all.Chains = append(all.Chains, r.Chains...)
		all.NotExplained = append(all.NotExplained, r.NotExplained...)
		all.InFlight = append(all.InFlight, r.InFlight...)
		all.Idle = append(all.Idle, r.Idle...)
		all.QueueWaits = append(all.QueueWaits, r.QueueWaits...)
		all.Ended = append(all.Ended, r.Ended...)
		all.GPUErrors = append(all.GPUErrors, r.GPUErrors...)
		all.RankEvents = append(all.RankEvents, r.RankEvents...)
		all.Workloads = append(all.Workloads, r.Workloads...)
		all.Changes = append(all.Changes, r.Changes...)
		all.Processes = append(all.Processes, r.Processes...)
		all.StoredChains = append(all.StoredChains, r.StoredChains...)
		all.Footprint = cmp.Or(all.Footprint, r.Footprint)
		for _, n := range r.Notes {
			all.Notes = append(all.Notes, "on "+r.Node+": "+n)
		}
	}
	all.Node = strings.Join(nodes, ", ")
	all.Chains = order.apply(all.Chains)
	slices.SortStableFunc(all.NotExplained, func(a, b report.NotExplained) int { return cmp.Compare(b.LostNS, a.LostNS) })
	switch n := len(all.Chains) - 1; {
	case n < 0:
		all.Verdict = strings.Join(verdicts, "; ")
	case n == 0:
		all.Verdict = onNode(&all.Chains[0])
	default:
		all.Verdict = fmt.Sprintf("%s (and %d more)", onNode(&all.Chains[0]), n)
	}
	return all
}

func onNode(c *report.Chain) string { return "on " + c.Effect.Node + ": " + c.Summary }

// nameMachine adds the machine's name to all parts of a report.
func nameMachine(r *report.Report) {
	for i := range r.Chains {
		c := &r.Chains[i]
		c.Effect.Node, c.Cause.Node = r.Node, cmp.Or(c.Cause.Node, r.Node)
		for k := range c.Path {
			c.Path[k].Node = cmp.Or(c.Path[k].Node, r.Node)
		}
	}
	for i := range r.NotExplained {
		r.NotExplained[i].Effect.Node = r.Node
	}
	for i := range r.InFlight {
		r.InFlight[i].Node = r.Node
	}
	for i := range r.Idle {
		r.Idle[i].Node = r.Node
	}
	for i := range r.QueueWaits {
		r.QueueWaits[i].Node = r.Node
	}
	for i := range r.Ended {
		r.Ended[i].Node = r.Node
	}
	for i := range r.GPUErrors {
		r.GPUErrors[i].Node = r.Node
	}
	for i := range r.RankEvents {
		r.RankEvents[i].Node = r.Node
	}
	for i := range r.Workloads {
		r.Workloads[i].Node = r.Node
	}
	for i := range r.Changes {
		r.Changes[i].Node = r.Node
	}
}

// apply sorts chains by the order and by time lost, and keeps one for each rank where Once says so.
func (o Order) apply(list []report.Chain) []report.Chain {
	slices.SortStableFunc(list, func(a, b report.Chain) int {
		return cmp.Or(o.Before(a, b), cmp.Compare(b.LostNS, a.LostNS))
	})
	type rank struct {
		node string
		tid  uint32
	}
	first := map[rank]int{}
	var kept []report.Chain
	for _, c := range list {
		if o.Once(&c) {
			k := rank{c.Cause.Node, c.Cause.TID}
			if i, ok := first[k]; ok {
				kept[i].Cause.Detail += fmt.Sprintf("; it also cost %s (pid %d) on %s %s",
					c.Effect.Process, c.Effect.PID, c.Effect.Node, report.Duration(c.LostNS))
				continue
			}
			first[k] = len(kept)
		}
		kept = append(kept, c)
	}
	return kept
}
