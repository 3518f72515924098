package accuracy

import (
	"math"
	"slices"

	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

// Result is a case, what was found, and how right that is.
type Result struct {
	Case
	Skipped   string  `json:"skipped,omitempty"`   // why it did not run, or is not an example of its fault: not judged
	Disturbed bool    `json:"disturbed,omitempty"` // the machine had too much other load in each run: not judged
	Runs      int     `json:"runs"`                // how often it was run; the last one counts
	Steal     float64 `json:"steal"`               // share of the CPUs' busy time that the hypervisor took
	OtherLoad float64 `json:"other_load"`          // share of the CPUs' time used by programs outside the run
	Recording string  `json:"recording,omitempty"` // with Options.Keep

	CostShare  float64 `json:"cost_share,omitempty"`  // of the steps' time, cost of a real program's fault
	InputShare float64 `json:"input_share,omitempty"` // of the steps' time without the fault, waiting for data

	InjectedNS int64         `json:"injected_ns"` // as the program measured it
	Steps      int64         `json:"steps"`
	Verdict    string        `json:"verdict"`
	First      *report.Cause `json:"first,omitempty"` // what the first chain blames

	FirstCause bool `json:"first_cause"` // the first chain is of the right kind
	Culprit    bool `json:"culprit"`     // and names the right party
	Top3       bool `json:"top3"`        // every fault is named in the first three chains
	Path       bool `json:"path"`        // a right chain's path shows the party in its state
	InOrder    bool `json:"in_order"`    // two faults are the first two chains, the one that cost more first
	// FalseBlame says that the first chain blames an innocent cause or party; for a control, that
	// there is a chain at all.
	FalseBlame bool `json:"false_blame"`
	Further    int  `json:"further"` // chains that no injected fault explains

	TimeError  *float64 `json:"time_error,omitempty"` // |found − injected| / injected, where the truth is exact
	Explained  float64  `json:"explained"`            // share of the lost time that the right chain explains; 0 to 1
	WhatIf     *WhatIf  `json:"what_if,omitempty"`
	VerdictSec float64  `json:"verdict_s"` // from opening the recording to the report

	Change *ChangeDate `json:"change,omitempty"` // of cases with a change in mid-run
	Told   *Told       `json:"told,omitempty"`   // of controls

	Agent    *Agent     `json:"agent,omitempty"`    // what an agent reached over MCP
	Numbers  *Numbers   `json:"numbers,omitempty"`  // the answers' numbers compared with the program's own
	Baseline *Judgement `json:"baseline,omitempty"` // what the co-occurrence rule says
}

// WhatIf compares the predicted duration of a step without the fault with the duration in a run
// without it.
type WhatIf struct {
	PredictedNS float64 `json:"predicted_ns"`
	MeasuredNS  float64 `json:"measured_ns"`
	Error       float64 `json:"error"` // |predicted − measured| / measured
}

// judged reports whether the result counts.
func (r *Result) judged() bool { return r.Skipped == "" && !r.Disturbed }

// judge scores a run of a case.
func judge(c Case, run *rig.Result) Result {
	r := Result{
		Case: c, Runs: run.Runs, Steal: run.Stolen(), OtherLoad: run.Others, Disturbed: run.Disturbed(),
		InjectedNS: run.Truth.InjectedNS, Steps: run.Truth.Steps,
		Verdict: run.Report.Verdict, VerdictSec: run.Took.Seconds(),
	}
	r.score(run.Report.Chains, &run.Truth)
	return r
}

func (r *Result) score(chains []report.Chain, t *cudastub.Truth) {
	if len(chains) > 0 {
		r.First = &chains[0].Cause
	}
	if r.Control() {
		r.FalseBlame = slices.ContainsFunc(chains,
			func(c report.Chain) bool { return !slices.Contains(r.Allowed, c.Cause.Kind) })
		return
	}
	faults := r.injected(t)
	for i := range chains {
		if find(faults, &chains[i]) == nil {
			r.Further++
		}
	}
	best := 0 // rank of the best chain, from 1
	r.Top3 = true
	var ranks []int
	for _, f := range faults {
		rank := 1 + slices.IndexFunc(chains, func(c report.Chain) bool { return f.right(&c) })
		r.Top3 = r.Top3 && rank > 0 && rank <= 3
		if rank > 0 && (best == 0 || rank < best) {
			best = rank
		}
		ranks = append(ranks, rank)
	}
	r.InOrder = inOrder(faults, ranks)
	if len(chains) == 0 {
		return
	}
	r.FirstCause = slices.ContainsFunc(faults, func(f injected) bool { return f.kind(&chains[0]) })
	r.Culprit = best == 1
	r.FalseBlame = !r.Culprit
	if best > 0 {
		r.measure(find(faults, &chains[best-1]), &chains[best-1])
	}
}

// find is the fault that a chain describes, nil if it describes none.
func find(faults []injected, c *report.Chain) *injected {
	i := slices.IndexFunc(faults, func(f injected) bool { return f.right(c) })
	if i < 0 {
		return nil
	}
	return &faults[i]
}

// tie is the ratio of the losses of two faults above which their order counts.
const tie = 1.25

// inOrder reports whether the first two chains describe the two faults, the one that cost more time
// first. If the program does not know the cost of both, or the costs are nearly equal, the order
// does not matter.
func inOrder(faults []injected, ranks []int) bool {
	if len(faults) != 2 || min(ranks[0], ranks[1]) != 1 || max(ranks[0], ranks[1]) != 2 {
		return false
	}
	first, second := &faults[ranks[0]-1], &faults[ranks[1]-1] // as ranked
	if !first.Exact || !second.Exact {
		return true
	}
	return float64(second.truth.InjectedNS) <= tie*float64(first.truth.InjectedNS)
}

// measure scores the amounts and the path of a chain that describes a fault.
func (r *Result) measure(f *injected, c *report.Chain) {
	r.Path = f.shown(c)
	r.Explained = c.ExplainedPct / 100
	if f.Exact && len(r.Expect) == 1 && f.truth.InjectedNS > 0 {
		found := float64(c.LostNS) * c.FollowedPct() / 100 // a fault with a lock is the whole time the lock was held
		v := relative(found, float64(f.truth.InjectedNS))
		r.TimeError = &v
	}
}

func relative(got, want float64) float64 { return math.Abs(got-want) / want }

// stepNS is the mean duration of a step.
func stepNS(t *cudastub.Truth) float64 { return t.Seconds * 1e9 / float64(max(t.Steps, 1)) }

// compare compares the right chain's prediction for the program without its fault with a run
// without it.
func (r *Result) compare(chains []report.Chain, t, without *cudastub.Truth) {
	faults := r.injected(t)
	i := slices.IndexFunc(chains, func(c report.Chain) bool { return c.WhatIf != nil && find(faults, &c) != nil })
	if i < 0 || without.Steps == 0 {
		return
	}
	w := &WhatIf{PredictedNS: float64(chains[i].WhatIf.StepNS), MeasuredNS: stepNS(without)}
	w.Error = relative(w.PredictedNS, w.MeasuredNS)
	r.WhatIf = w
}

// median is the median of the values; nil if there are none.
func median(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	m := stats.Middle(v)
	return &m
}
