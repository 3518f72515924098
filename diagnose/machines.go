package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/recording"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// Explain diagnoses a window of a recording. If it holds several machines each is
// explained by itself, but for collective operations, in which a rank of one machine
// may keep those of the others waiting. prepare, if not nil, may adjust the input of
// each.
func Explain(ctx context.Context, r store.Reader, w store.Window, prepare func(*Input)) (*report.Report, error) {
	ins, err := LoadMachines(ctx, r, w)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		for _, in := range ins {
			prepare(in)
		}
	}
	return DiagnoseMachines(ins), nil
}

// LoadMachines is Load for each machine of a recording.
func LoadMachines(ctx context.Context, r store.Reader, w store.Window) ([]*Input, error) {
	machines, done, err := recording.Machines(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read which machines were recorded: %w", err)
	}
	defer done()
	var ins []*Input
	for _, m := range machines {
		in, err := Load(ctx, m, w)
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
	}
	return ins, nil
}

// DiagnoseMachines explains the recordings of several machines together.
func DiagnoseMachines(ins []*Input) *report.Report {
	if busy := slices.DeleteFunc(slices.Clone(ins), (*Input).silent); len(busy) > 0 {
		ins = busy
	} else {
		ins = ins[:1]
	}
	machines := make([]*evidence, len(ins))
	for i, in := range ins {
		machines[i] = newEvidence(in)
	}
	linkMachines(machines)
	for _, ev := range machines {
		ev.find()
	}
	attributeToStraggler(machines)
	reports := make([]*report.Report, len(ins))
	for i, ev := range machines {
		reports[i] = ev.report()
	}
	if len(reports) == 1 {
		return reports[0]
	}
	return together(reports)
}

// silent reports whether nothing was recorded of a machine in the window.
func (in *Input) silent() bool {
	return len(in.Ops) == 0 && len(in.InFlight) == 0 && in.Footprint == nil && len(in.Collectives) == 0
}

// together makes one report of several machines'.
func together(list []*report.Report) *report.Report {
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
		name(r)
		all.Window.FromNS, all.Window.ToNS = min(all.Window.FromNS, r.Window.FromNS), max(all.Window.ToNS, r.Window.ToNS)
		all.Events += r.Events
		for _, k := range slices.Sorted(maps.Keys(r.Lost)) {
			all.Lost[k] += r.Lost[k]
		}
		all.Chains = append(all.Chains, r.Chains...)
		all.NotExplained = append(all.NotExplained, r.NotExplained...)
		all.InFlight = append(all.InFlight, r.InFlight...)
		all.Idle = append(all.Idle, r.Idle...)
		all.Ended = append(all.Ended, r.Ended...)
		all.Workloads = append(all.Workloads, r.Workloads...)
		all.Processes = append(all.Processes, r.Processes...)
		all.StoredChains = append(all.StoredChains, r.StoredChains...)
		all.Footprint = cmp.Or(all.Footprint, r.Footprint)
		for _, n := range r.Notes {
			all.Notes = append(all.Notes, "on "+r.Node+": "+n)
		}
	}
	all.Node = strings.Join(nodes, ", ")
	all.Chains = onceEach(all.Chains)
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

// name says of all that a report tells on which machine it was.
func name(r *report.Report) {
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
	for i := range r.Ended {
		r.Ended[i].Node = r.Node
	}
	for i := range r.Workloads {
		r.Workloads[i].Node = r.Node
	}
}

// onceEach ranks the chains, hangs first, then by severity and by time lost. A rank that kept those
// of several machines waiting is reported once, by the machine that lost most.
func onceEach(list []report.Chain) []report.Chain {
	hangs := func(c *report.Chain) int {
		if causeOf(c.Cause.Kind).foremost {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b report.Chain) int {
		return cmp.Or(cmp.Compare(hangs(&a), hangs(&b)), worstFirst(a, b), cmp.Compare(b.LostNS, a.LostNS))
	})
	type rank struct {
		node string
		tid  uint32
	}
	first := map[rank]int{}
	var kept []report.Chain
	for _, c := range list {
		if causeOf(c.Cause.Kind).ownLosses {
			k := rank{c.Cause.Node, c.Cause.TID}
			if i, ok := first[k]; ok {
				kept[i].Cause.Detail += fmt.Sprintf("; it also cost %s (pid %d) on %s %s", c.Effect.Process, c.Effect.PID, c.Effect.Node, span(c.LostNS))
				continue
			}
			first[k] = len(kept)
		}
		kept = append(kept, c)
	}
	return kept
}
