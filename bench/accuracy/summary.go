package accuracy

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/bench/numbers"
)

// Report is how right the explanations were. Shares are of the judged cases, 0 to 1. Fields are
// only ever added.
type Report struct {
	Schema int    `json:"schema"`
	Seed   uint64 `json:"seed"`
	Quick  bool   `json:"quick"`
	Kernel string `json:"kernel"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`

	Cases     int `json:"cases"`    // judged cases with one fault
	Controls  int `json:"controls"` // judged controls
	Skipped   int `json:"skipped"`
	Disturbed int `json:"disturbed"`

	FirstCause  float64 `json:"first_cause"`
	Culprit     float64 `json:"culprit"`
	Top3        float64 `json:"top3"`
	Path        float64 `json:"path"`
	FalseBlames int     `json:"false_blames"` // runs whose first chain blames an innocent, with controls

	MedianTimeError *float64 `json:"median_time_error"` // null: nothing to compare
	TimeErrors      int      `json:"time_errors"`       // cases compared
	Explained       float64  `json:"explained"`         // mean over the cases that name the right culprit
	WhatIfError     *float64 `json:"what_if_error"`     // median; null: nothing was predicted
	WhatIfs         int      `json:"what_ifs"`
	VerdictSec      *float64 `json:"time_to_verdict_s"` // median
	WorstVerdictSec float64  `json:"worst_time_to_verdict_s"`

	Agents Agents `json:"agents"` // over MCP

	Numbers    []numbers.Field `json:"numbers"`    // the answers' numbers compared with the program's own, by field
	Recordings int             `json:"recordings"` // number of recordings compared

	Changes  *Changes  `json:"changes,omitempty"` // in mid-run, and in healthy runs
	Pairs    *Pairs    `json:"pairs,omitempty"`   // two causes at once
	Baseline *Baseline `json:"baseline,omitempty"`
	ByCause  []ByCause `json:"by_cause"`
	Results  []Result  `json:"results"`
}

// Pairs is how right explanations of two faults at once were.
type Pairs struct {
	Cases   int `json:"cases"`
	Both    int `json:"both"`     // both named, among the first three chains
	InOrder int `json:"in_order"` // as the first two, the one that cost more time first
}

// Baseline is the score of a simpler rule on the same recordings, for comparison.
type Baseline struct {
	Rule        string  `json:"rule"`
	FirstCause  float64 `json:"first_cause"`
	Culprit     float64 `json:"culprit"`
	FalseBlames int     `json:"false_blames"`
}

// ByCause is the score of one kind of cause.
type ByCause struct {
	Kind       string `json:"kind"`
	Cases      int    `json:"cases"`
	FirstCause int    `json:"first_cause"`
	Culprit    int    `json:"culprit"`
	NotJudged  int    `json:"not_judged"` // skipped or disturbed
}

// sum adds up the results.
func (r *Report) sum(baseline bool) {
	var single, all []*Result // judged: cases with one fault; all of them
	for i := range r.Results {
		x := &r.Results[i]
		switch {
		case x.Skipped != "":
			r.Skipped++
		case x.Disturbed:
			r.Disturbed++
		default:
			all = append(all, x)
			switch len(x.Expect) {
			case 0:
				r.Controls++
			case 1:
				r.Cases++
				single = append(single, x)
			default:
				r.pair(x)
			}
		}
	}
	r.FirstCause = shareOf(single, func(x *Result) bool { return x.FirstCause })
	r.Culprit = shareOf(single, func(x *Result) bool { return x.Culprit })
	r.Top3 = shareOf(single, func(x *Result) bool { return x.Top3 })
	r.Path = shareOf(single, func(x *Result) bool { return x.Path })
	r.FalseBlames = count(all, func(x *Result) bool { return x.FalseBlame })
	r.amounts(all)
	r.countAgents(all)
	r.countChanges(all)
	r.countNumbers(all)
	r.byCause()
	if baseline {
		r.Baseline = &Baseline{
			Rule:        "cooccurrence",
			FirstCause:  shareOf(single, func(x *Result) bool { return x.Baseline.FirstCause }),
			Culprit:     shareOf(single, func(x *Result) bool { return x.Baseline.Culprit }),
			FalseBlames: count(all, func(x *Result) bool { return x.Baseline.FalseBlame }),
		}
	}
}

func (r *Report) pair(x *Result) {
	if r.Pairs == nil {
		r.Pairs = &Pairs{}
	}
	r.Pairs.Cases++
	if x.Top3 {
		r.Pairs.Both++
	}
	if x.InOrder {
		r.Pairs.InOrder++
	}
}

// amounts summarises what is measured rather than counted.
func (r *Report) amounts(all []*Result) {
	var timeErrors, whatIfs, verdicts []float64
	explained, n := 0.0, 0
	for _, x := range all {
		if x.TimeError != nil {
			timeErrors = append(timeErrors, *x.TimeError)
		}
		if x.WhatIf != nil {
			whatIfs = append(whatIfs, x.WhatIf.Error)
		}
		if x.Explained > 0 {
			explained += x.Explained
			n++
		}
		verdicts = append(verdicts, x.VerdictSec)
		r.WorstVerdictSec = max(r.WorstVerdictSec, x.VerdictSec)
	}
	r.MedianTimeError, r.TimeErrors = median(timeErrors), len(timeErrors)
	r.WhatIfError, r.WhatIfs = median(whatIfs), len(whatIfs)
	r.VerdictSec = median(verdicts)
	r.Explained = explained / float64(max(n, 1))
}

// byCause scores each kind by itself, by the cases with one fault.
func (r *Report) byCause() {
	r.ByCause = []ByCause{}
	for i := range r.Results {
		x := &r.Results[i]
		if len(x.Expect) != 1 {
			continue
		}
		kind := x.Expect[0].Kinds[0]
		at := slices.IndexFunc(r.ByCause, func(b ByCause) bool { return b.Kind == kind })
		if at < 0 {
			at = len(r.ByCause)
			r.ByCause = append(r.ByCause, ByCause{Kind: kind})
		}
		b := &r.ByCause[at]
		if !x.judged() {
			b.NotJudged++
			continue
		}
		b.Cases++
		if x.FirstCause {
			b.FirstCause++
		}
		if x.Culprit {
			b.Culprit++
		}
	}
	slices.SortFunc(r.ByCause, func(a, b ByCause) int { return cmp.Compare(a.Kind, b.Kind) })
}

func count(list []*Result, is func(*Result) bool) int {
	n := 0
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// shareOf is the share of the results for which is holds. It is 0 for an empty list; see
// Report.Cases.
func shareOf(list []*Result, is func(*Result) bool) float64 {
	return float64(count(list, is)) / float64(max(len(list), 1))
}
