package accuracy

import (
	"math"
	"slices"

	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Cases that are long enough for a change in mid-run: after some healthy seconds a fault makes each step
// slower, to the end. What is scored beside the rest is whether the change is found and dated. Their
// counterparts are healthy runs, above all those with phases (phases.go): no change may be told there.

const (
	changesName  = "changes"
	changeAfter  = 8  // s, the least healthy time
	changeLength = 20 // s, of a run
	maxChangeOff = 1.0
	leastSlower  = 0.10 // by which steps must be slower: less is not promised to be found
	p95          = 0.95
)

// unchanging are faults that are no change of level: they grow, cost no time, come once or are there
// from the start.
var unchanging = []string{"gpu-trend", "leak", "cold", "launch-bound"}

// ChangeDate is how right the date of a change is.
type ChangeDate struct {
	Found bool `json:"found"` // a change of level of the dispatching thread
	// OffSec is how far its date is from the first time the fault struck, s.
	OffSec  float64 `json:"off_s,omitempty"`
	Further int     `json:"further"` // other changes of the thread
	Cost    float64 `json:"cost"`    // by which share steps were slower, by the program's own clock
}

// Changes is how right dates of changes were.
type Changes struct {
	Cases     int      `json:"cases"`      // in which steps became slower by 10 % or more
	Small     int      `json:"small"`      // those in which they did not, which do not count
	Found     int      `json:"found"`      //
	First     int      `json:"first"`      // the first chain is of the right kind and names the culprit
	Dated     int      `json:"dated"`      // within 1 s
	MedianSec *float64 `json:"median_s"`   // by which dates were off; null: none was found
	P95Sec    *float64 `json:"p95_s"`      //
	Further   int      `json:"further"`    // changes that no fault explains, of all cases
	Healthy   int      `json:"healthy"`    // runs without a fault
	Silent    int      `json:"silent"`     // those in which no change was told
	MoreWork  int      `json:"more_work"`  // in which one was reported as more work or another phase
	LessToDo  int      `json:"less_to_do"` // the same, that there may have been less to do
}

// Told are the changes that were told of a healthy run.
type Told struct {
	Slower   []string `json:"slower"`     // wrong, as nothing became slower
	MoreWork int      `json:"more_work"`  // said to be more work, or at another place in the program
	LessToDo int      `json:"less_to_do"` // said to be time in which there may have been less to do
}

// changeCases draws the cases.
func changeCases(o *Options) (list []Case) {
	for i := range faults {
		f := &faults[i]
		if slices.Contains(unchanging, f.Fault) {
			continue
		}
		which := newDraw(o.Seed, f.Fault+" in mid-run, which", o.CPUs, o.Quick)
		c := f.draw(o, []Magnitude{Medium, Large}[which.between(0, 1)])
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
	if lost, after := float64(t.InjectedNS), t.Seconds*1e9-float64(t.FirstNS-t.BeganNS); lost > 0 && lost < after {
		d.Cost = lost / (after - lost)
	}
	return d
}

// told sorts the changes of a healthy run.
func told(list []report.Change) *Told {
	t := &Told{Slower: []string{}}
	for i := range list {
		switch c := &list[i]; {
		case c.MoreWork != "" || c.Elsewhere:
			t.MoreWork++
		case c.Between:
			t.LessToDo++
		default:
			t.Slower = append(t.Slower, c.Summary)
		}
	}
	return t
}

// changes scores the changes found in a case's recording, if it is healthy or has one in mid-run.
func (r *Result) changes(in *diagnose.Input, t *cudastub.Truth) {
	switch {
	case r.Control():
		r.Told = told(diagnose.Changes(in))
	case r.change && t.FirstNS != 0:
		r.Change = date(diagnose.Changes(in), t)
	}
}

func (r *Report) countChanges(all []*Result) {
	sum := Changes{}
	var off []float64
	for _, x := range all {
		if x.Told != nil {
			sum.healthy(x.Told)
		}
		if x.Change == nil {
			continue
		}
		if x.Change.Cost < leastSlower {
			sum.Small++
			continue
		}
		sum.Cases++
		sum.Further += x.Change.Further
		if x.FirstCause && x.Culprit {
			sum.First++
		}
		if x.Change.Found {
			sum.Found++
			off = append(off, x.Change.OffSec)
			if x.Change.OffSec <= maxChangeOff {
				sum.Dated++
			}
		}
	}
	if sum.Cases+sum.Small+sum.Healthy == 0 {
		return
	}
	sum.MedianSec, sum.P95Sec = median(off), quantile(off, p95)
	r.Changes = &sum
}

func (c *Changes) healthy(t *Told) {
	c.Healthy++
	if len(t.Slower) == 0 {
		c.Silent++
	}
	if t.MoreWork > 0 {
		c.MoreWork++
	}
	if t.LessToDo > 0 {
		c.LessToDo++
	}
}

// quantile is the least of the values that so many of all are not above; nil if there are none.
func quantile(v []float64, q float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	p := stats.Percentile(v, q)
	return &p
}
