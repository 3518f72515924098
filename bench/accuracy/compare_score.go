package accuracy

import (
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

// Compared is a pair, what a comparison says of it, and how right that is.
type Compared struct {
	Pair
	A         ComparedRun `json:"a"`
	B         ComparedRun `json:"b"`
	Skipped   string      `json:"skipped,omitempty"`   // why it did not run, or is no example: not judged
	Disturbed bool        `json:"disturbed,omitempty"` // the machine had too much other load: not judged
	// Unsure says that the hypervisor took so much time that the program's clocks do not measure
	// what it did: amounts are not judged.
	Unsure bool `json:"unsure,omitempty"`

	Verdict      string         `json:"verdict"`
	Changed      bool           `json:"changed"`
	Unit         string         `json:"unit"`
	DifferenceNS int64          `json:"difference_ns"`
	SlowerPct    float64        `json:"slower_pct"`
	NoisePct     float64        `json:"noise_pct"`
	Parts        []compare.Part `json:"parts"`

	TrueNS  float64  `json:"true_ns"`  // B's mean step less A's, as the program measured it
	StepOff *float64 `json:"step_off"` // |found − true| / true; null for equal runs
	Amounts []Amount `json:"amounts,omitempty"`

	First bool `json:"first"` // there is said to be a difference, and its first part is an expected one
	// CauseRight says that the first cause that came or grew is the expected one, with its culprit.
	CauseRight *bool `json:"cause_right,omitempty"` // absent: none is expected
}

// ComparedRun is one run of a pair.
type ComparedRun struct {
	CompareRun
	Runs      int     `json:"runs"` // how often it was run; the last one counts
	Steps     int64   `json:"steps"`
	StepNS    float64 `json:"step_ns"` // the mean, as the program measured it
	Steal     float64 `json:"steal"`
	OtherLoad float64 `json:"other_load"`
	Recording string  `json:"recording,omitempty"` // with Options.Keep
}

// Amount is how much of the difference an expected part is, ns in a step.
type Amount struct {
	Item
	LowNS   float64 `json:"low_ns"` // as the program measured it: within its calls, and around them
	HighNS  float64 `json:"high_ns"`
	FoundNS int64   `json:"found_ns"`
	Off     float64 `json:"off"` // by how much it is outside, as a share of the middle
}

// MostOff is up to which share of the truth an amount is right.
const MostOff = 0.10

// leastDifference is the least difference of the program's own mean steps, as a share of A's, that a
// known difference must make: noise of a machine is some percent.
const leastDifference = 0.05

// AmountRight reports whether the expected parts and the whole difference are as large as the program
// measured them.
func (c *Compared) AmountRight() bool { return c.Off() <= MostOff }

// Off is the largest error of an amount of an expected part, or of the whole difference.
func (c *Compared) Off() float64 {
	off := 0.0
	if c.StepOff != nil {
		off = *c.StepOff
	}
	for _, a := range c.Amounts {
		off = max(off, a.Off)
	}
	return off
}

// ran is a run that was recorded.
type ran struct {
	ComparedRun
	side      *compare.Side
	truth     cudastub.Truth
	skipped   string
	disturbed bool
}

// judgePair compares two runs and scores what is said.
func judgePair(p Pair, a, b *ran) Compared {
	c := Compared{
		Pair: p, A: a.ComparedRun, B: b.ComparedRun, Skipped: a.skipped, Disturbed: a.disturbed || b.disturbed,
		Unsure: max(a.Steal, b.Steal) > rig.TooMuchStolen, Parts: []compare.Part{},
	}
	if c.Skipped == "" {
		c.Skipped = b.skipped
	}
	if c.Skipped == "" {
		c.score(compare.Compare(a.side, b.side), &a.truth, &b.truth)
	}
	return c
}

func (c *Compared) score(r *compare.Result, a, b *cudastub.Truth) {
	c.Verdict, c.Changed = r.Verdict, r.Changed
	i := slices.IndexFunc(r.Threads, func(t compare.Thread) bool {
		return own(a, t.A.TID) != nil && own(b, t.B.TID) != nil
	})
	if i < 0 {
		if !c.Equal() { // nothing is right
			all := 1.0
			c.StepOff = &all
		}
		return
	}
	t := &r.Threads[i]
	c.Unit, c.DifferenceNS, c.SlowerPct, c.NoisePct, c.Parts = t.Unit, t.DifferenceNS, t.SlowerPct, t.NoisePct, t.Parts
	x, y := own(a, t.A.TID), own(b, t.B.TID)
	stepA, stepB := a.Seconds*1e9/float64(max(x.Steps, 1)), b.Seconds*1e9/float64(max(y.Steps, 1))
	c.A.StepNS, c.B.StepNS, c.TrueNS = stepA, stepB, stepB-stepA
	if c.Equal() {
		return
	}
	if share := math.Abs(c.TrueNS) / stepA; share < leastDifference {
		c.Skipped = fmt.Sprintf("the difference was %.1f %% of a step", 100*share)
		return
	}
	off := math.Abs(relative(float64(c.DifferenceNS), c.TrueNS))
	c.StepOff = &off
	c.First = t.Changed && len(t.Parts) > 0 &&
		slices.ContainsFunc(c.Expect, func(e Item) bool { return e.is(&t.Parts[0]) })
	for _, e := range c.Expect {
		c.Amounts = append(c.Amounts, amount(e, t, [2]*cudastub.Truth{a, b}, [2]*cudastub.ThreadTruth{x, y}))
	}
	if c.Cause != "" {
		right := len(t.Causes) > 0 && t.Causes[0].Kind == c.Cause && t.Causes[0].Who == c.Culprit &&
			t.Causes[0].BNS > t.Causes[0].ANS
		c.CauseRight = &right
	}
}

// own is what a thread measured of itself; nil if it dispatches nothing.
func own(t *cudastub.Truth, tid uint32) *cudastub.ThreadTruth {
	for i := range t.Threads {
		if t.Threads[i].TID == int(tid) {
			return &t.Threads[i]
		}
	}
	return nil
}

// amount compares how much of the difference an expected part is said to be with the program's own
// measurement.
func amount(e Item, t *compare.Thread, of [2]*cudastub.Truth, own [2]*cudastub.ThreadTruth) Amount {
	m := Amount{Item: e}
	for i := range t.Parts {
		if e.counts(&t.Parts[i]) {
			m.FoundNS += t.Parts[i].NS
		}
	}
	if e.Op == "" {
		waited := func(t *cudastub.ThreadTruth) float64 { return float64(t.RunnableNS) / float64(max(t.Steps, 1)) }
		m.LowNS = waited(own[1]) - waited(own[0])
		m.HighNS = m.LowNS
	} else {
		inside := e.split(of, func(m *cudastub.Made) uint64 { return m.Inside.TotalNS })
		around := e.split(of, func(m *cudastub.Made) uint64 { return m.Around.TotalNS })
		m.LowNS, m.HighNS = min(inside, around), max(inside, around)
	}
	found := float64(m.FoundNS)
	m.Off = max(0, m.LowNS-found, found-m.HighNS) / math.Abs((m.LowNS+m.HighNS)/2)
	return m
}

// split is the part of the difference of two mean steps that is due to the number of an operation's
// calls, or to their duration, by the program's own numbers: a change of one counts with the mean of
// both sides of the other.
func (e *Item) split(of [2]*cudastub.Truth, total func(*cudastub.Made) uint64) float64 {
	var n, ns [2]float64 // calls in a step; ns in a call
	for i, t := range of {
		m := t.Made[e.Op]
		n[i] = float64(m.Calls) / float64(max(t.Steps, 1))
		ns[i] = float64(total(&m)) / float64(max(m.Calls, 1))
	}
	if e.What == "calls" {
		return (n[1] - n[0]) * (ns[0] + ns[1]) / 2
	}
	return (ns[1] - ns[0]) * (n[0] + n[1]) / 2
}
