// Package compare finds what changed between two windows, of one recording or of two. It pairs the threads of the two
// sides by what they do, and splits the difference of their steps' durations into parts that add up to it. It has no
// clock and reads no file.
package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/difference"
)

// Schema is the version of Result as JSON.
const Schema = "ingero.compare/1"

// Result is the change from side A to side B.
type Result struct {
	Schema  string     `json:"schema"`
	A       Window     `json:"a"`
	B       Window     `json:"b"`
	Verdict string     `json:"verdict"`
	Changed bool       `json:"changed"` // a thread got slower or faster by more than the noise
	Threads []Thread   `json:"threads"` // pairs, those with most time first
	OnlyA   []Unpaired `json:"only_a"`
	OnlyB   []Unpaired `json:"only_b"`
	// Changes are facts about the machines, their GPUs and the programs that differ between the sides.
	Changes []Change `json:"changes"`
	Notes   []string `json:"notes"`
}

// Window is a side's recorded time.
type Window struct {
	Name   string `json:"name"`
	DB     string `json:"db"`
	Node   string `json:"node"`
	FromNS uint64 `json:"from_ns"` // Unix
	ToNS   uint64 `json:"to_ns"`
	Events uint64 `json:"events"` // calls, without nested ones
}

// Thread is a pair: a thread of side A and the one of side B that does the same.
type Thread struct {
	Process string  `json:"process"`
	A       Measure `json:"a"`
	B       Measure `json:"b"`
	// Unit is what both are measured by: "step"; an operation, from one call to the next, if they have no step in
	// common; or "second" if nothing repeats.
	Unit string `json:"unit"`
	// DifferenceNS is the duration of a unit in B minus that in A, ns. It is the sum of Parts and RestNS.
	DifferenceNS int64   `json:"difference_ns"`
	SlowerPct    float64 `json:"slower_pct"` // the same as a share of A's duration; negative: faster
	// NoisePct is the difference below which nothing can be concluded, from the variation of both sides' durations over
	// time.
	NoisePct float64 `json:"noise_pct"`
	Changed  bool    `json:"changed"` // the difference exceeds the noise
	Parts    []Part  `json:"parts"`   // of the difference, the largest first
	RestNS   int64   `json:"rest_ns"` // parts that are too small to be listed
	Causes   []Cause `json:"causes"`  // findings that came, went, grew or shrank
	// Kernels are those launched more or less often per unit; MoreKernels counts those not listed.
	Kernels     []Kernel `json:"kernels"`
	MoreKernels int      `json:"more_kernels,omitempty"`
}

// Measure is one side of a pair.
type Measure struct {
	PID    uint32  `json:"pid"`
	TID    uint32  `json:"tid"`
	Units  float64 `json:"units"`   // steps, calls or seconds in the window
	UnitNS float64 `json:"unit_ns"` // mean duration without waits for work
	Does   string  `json:"does"`    // the calls of a step, in words; empty if nothing repeats
}

// Unpaired is a thread without a counterpart on the other side.
type Unpaired struct {
	Process string `json:"process"`
	PID     uint32 `json:"pid"`
	TID     uint32 `json:"tid"`
	Calls   uint64 `json:"calls"`
}

// maxPrograms is how many pairs' programs are compared: a job has hundreds of equal ones.
const maxPrograms = 16

// Compare compares two sides.
func Compare(a, b *Side) *Result {
	r := &Result{
		Schema: Schema, A: window(a), B: window(b), Threads: []Thread{}, OnlyA: []Unpaired{}, OnlyB: []Unpaired{},
		Notes: []string{},
	}
	pairs, onlyA, onlyB := pair(a.Profiles, b.Profiles)
	r.Changes = changes(a.Facts, b.Facts)
	for i, p := range pairs {
		t := compareThreads(p[0], p[1])
		t.Causes = causes(a.Report, b.Report, &t)
		r.Threads = append(r.Threads, t)
		r.Changed = r.Changed || t.Changed
		if i < maxPrograms {
			for _, c := range changes(programFacts(p[0], p[1], p[0].Process), programFacts(p[1], p[0], p[0].Process)) {
				if !slices.Contains(r.Changes, c) {
					r.Changes = append(r.Changes, c)
				}
			}
		}
	}
	for i, s := range []*Side{a, b} {
		if s.Note != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("%c: %s", 'A'+i, s.Note))
		}
	}
	r.OnlyA, r.OnlyB = unpaired(onlyA), unpaired(onlyB)
	r.Verdict = r.verdict()
	return r
}

func window(s *Side) Window {
	w := s.Report.Window
	return Window{
		Name: s.Name, DB: s.Report.DB, Node: s.Report.Node, FromNS: w.FromNS, ToNS: w.ToNS, Events: s.Report.Events,
	}
}

func unpaired(list []*diagnose.Profile) []Unpaired {
	out := []Unpaired{}
	for _, p := range list {
		u := Unpaired{Process: p.Process, PID: p.PID, TID: p.TID}
		for _, o := range p.Ops {
			u.Calls += o.Calls
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Unpaired) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// compareThreads compares two threads that do the same.
func compareThreads(a, b *diagnose.Profile) Thread {
	u := commonUnit(a, b)
	na, nb := u.units(a), u.units(b)
	sa, sb := u.share(a, na), u.share(b, nb)
	t := Thread{Process: a.Process, Unit: u.name, A: measure(a, na, sa), B: measure(b, nb, sb)}
	if b.Process != a.Process {
		t.Process += " and " + b.Process
	}
	parts := difference.Split(sa, sb)
	var sum float64
	for i := range parts {
		sum += parts[i].NS
	}
	t.DifferenceNS = int64(math.Round(sum))
	if t.A.UnitNS > 0 {
		t.SlowerPct = round(100 * sum / t.A.UnitNS)
	}
	t.NoisePct = round(noise(u, a, b))
	t.Changed = math.Abs(t.SlowerPct) > t.NoisePct
	t.Kernels, t.MoreKernels = kernels(a, b, na, nb)
	t.Parts, t.RestNS = listed(parts, t.DifferenceNS, t.A.UnitNS*t.NoisePct/100)
	nameCode(t.Parts, a.Code, b.Code)
	return t
}

func measure(p *diagnose.Profile, units float64, s *difference.Share) Measure {
	m := Measure{PID: p.PID, TID: p.TID, Units: units, UnitNS: math.Round(s.NS)}
	if p.Count > 0 {
		m.Does = p.Steps.Words()
	}
	return m
}

func round(v float64) float64 { return math.Round(10*v) / 10 }

// SlowerThan reports whether a thread's unit takes so many percent longer in B than in A, and more than the noise.
func (r *Result) SlowerThan(percent float64) bool {
	return slices.ContainsFunc(r.Threads, func(t Thread) bool { return t.Changed && t.SlowerPct > percent })
}

// Warm-up is left out if it is at least this share of the time, and at least half of the time is left.
const leastWarmup = 0.01

// AfterWarmup returns the first whole second, Unix ns, after the warm-up of the thread that makes most calls, and how
// long after the begin that is, ns. The latter is 0 if warm-up does not matter.
func (s *Side) AfterWarmup() (from, left uint64) {
	var most *diagnose.Profile
	for i := range s.Profiles {
		if p := &s.Profiles[i]; most == nil || weight(p) > weight(most) {
			most = p
		}
	}
	if most == nil || float64(most.Warmup) < leastWarmup*float64(most.To-min(most.From, most.To)) {
		return 0, 0
	}
	const second = uint64(time.Second)
	from = (most.From + most.Warmup + second - 1) / second * second
	begin := s.Report.Window.FromNS
	if left = from - min(begin, from); from+(s.Report.Window.ToNS-min(begin, s.Report.Window.ToNS))/2 > most.To {
		return 0, 0
	}
	return from, left
}
