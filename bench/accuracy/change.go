package accuracy

import (
	"math"
	"slices"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Cases that are long enough for a change in mid-run: after some healthy seconds a fault makes each step
// slower, to the end. What is scored beside the rest is whether the change is found and dated.

const (
	changesName  = "changes"
	changeAfter  = 8  // s, the least healthy time
	changeLength = 20 // s, of a run
	maxChangeOff = 1.0
)

// changing are faults of which the cost in each step is about the same from their begin on.
var changing = []string{"implicit-sync", "alloc-churn", "driver-cpu", "cpu-hog", "lock"}

// ChangeDate is how right the date of a change is.
type ChangeDate struct {
	Found bool `json:"found"` // a change of level of the dispatching thread
	// OffSec is how far its date is from the first time the fault struck, s.
	OffSec  float64 `json:"off_s,omitempty"`
	Further int     `json:"further"` // other changes of the thread
}

// Changes is how right dates of changes were.
type Changes struct {
	Found   int `json:"found"`
	Dated   int `json:"dated"` // within 1 s
	Cases   int `json:"cases"`
	Further int `json:"further"` // changes that no fault explains, of all cases
}

// changeCases draws the cases.
func changeCases(o *Options) (list []Case) {
	for _, name := range changing {
		f := findFault(name)
		c := f.draw(o, Large)
		c.Name += " in mid-run"
		d := newDraw(o.Seed, c.Name, o.CPUs, o.Quick)
		after := float64(d.between(1000*changeAfter, 1000*changeAfter+2000)) / 1000
		c.Args = append(c.Args, arguments("--seconds", changeLength, "--start-after", after)...)
		c.change = true
		list = append(list, c)
	}
	return list
}

// date scores the dates of the changes that were found.
func date(list []report.Change, t *cudastub.Truth) *ChangeDate {
	d := &ChangeDate{}
	off := func(c *report.Change) float64 { return math.Abs(float64(int64(c.AtNS)-t.FirstNS)) / 1e9 }
	own := slices.DeleteFunc(slices.Clone(list), func(c report.Change) bool { return int(c.TID) != t.TID })
	for i := range own {
		if c := &own[i]; c.Kind == report.ChangeLevel && (!d.Found || off(c) < d.OffSec) {
			d.Found, d.OffSec = true, off(c)
		}
	}
	d.Further = len(own)
	if d.Found {
		d.Further--
	}
	return d
}

// dateChanges scores the changes found in a case's recording, if it has one in mid-run.
func (r *Result) dateChanges(in *diagnose.Input, t *cudastub.Truth) {
	if r.change && t.FirstNS != 0 {
		r.Change = date(diagnose.Changes(in), t)
	}
}

func (r *Report) countChanges(all []*Result) {
	for _, x := range all {
		if x.Change == nil {
			continue
		}
		if r.Changes == nil {
			r.Changes = &Changes{}
		}
		r.Changes.Cases++
		r.Changes.Further += x.Change.Further
		if x.Change.Found {
			r.Changes.Found++
			if x.Change.OffSec <= maxChangeOff {
				r.Changes.Dated++
			}
		}
	}
}
