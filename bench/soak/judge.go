package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what a row says.
type Verdict string

// The verdicts. A run passes if no row failed.
const (
	OK       Verdict = "ok"
	Failed   Verdict = "FAILED"
	TooShort Verdict = "too short to judge"
)

// Row is a line of the table: a slope, or a number with a bound.
type Row struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Mean    float64  `json:"mean,omitempty"`   // of a slope's readings
	Value   float64  `json:"value"`            // of a slope: a minute
	Margin  *float64 `json:"margin,omitempty"` // of a slope; nil: not known
	Bound   float64  `json:"bound"`
	Verdict Verdict  `json:"verdict"`
	Said    []string `json:"said,omitempty"`
}

// series are the readings whose slopes are judged. The bounds are in DESIGN.md, with reasons.
var series = []struct {
	name, unit string
	bound      float64 // a minute
	share      bool    // bound is a share of the mean
	fills      bool    // it rises until caches of bounded size are full
	value      func(*sample) (float64, bool)
}{
	{"eBPF links", "", 0.2, false, false, func(s *sample) (float64, bool) { return float64(s.links), true }},
	{"eBPF programs", "", 0.2, false, false, func(s *sample) (float64, bool) { return float64(s.programs), true }},
	{"eBPF maps", "", 0.2, false, false, func(s *sample) (float64, bool) { return float64(s.maps), true }},
	{"descriptors", "", 0.2, false, false, func(s *sample) (float64, bool) { return float64(s.descriptors), true }},
	{"memory maps", "", 0.5, false, true, func(s *sample) (float64, bool) { return float64(s.mappings), true }},
	{
		"its own memory", "MiB", 0.25, false, true,
		func(s *sample) (float64, bool) { return float64(s.own) / (1 << 20), true },
	},
	{
		"recording, a recorded second", "KiB", 0.01, true, false,
		func(s *sample) (float64, bool) { return s.grown / (1 << 10), s.rates },
	},
	{"CPU", "%", 0.01, true, false, func(s *sample) (float64, bool) { return 100 * s.cpu, s.rates }},
}

// fillMinutes is for how long the caches of a tracer fill while programs come and go.
const fillMinutes = 10

// fillsFor is for how many minutes memory is left out: in a short run while caches fill, else no longer than the rest.
func fillsFor(length time.Duration) float64 {
	if length < 2*fillMinutes*time.Minute {
		return fillMinutes
	}
	return 0
}

// slopes judges all series. What was read before warm minutes had passed, or within warm minutes of the start of a
// later life, is left out; of what fills, fill minutes.
func slopes(samples []sample, warm, fill float64) []Row {
	begun := map[int]float64{}
	for i := range samples {
		s := &samples[i]
		if _, ok := begun[s.life]; !ok {
			begun[s.life] = s.minutes
		}
	}
	var rows []Row
	for _, of := range series {
		from := warm
		if of.fills {
			from = max(warm, fill)
		}
		var points []point
		for i := range samples {
			s := &samples[i]
			if v, ok := of.value(s); ok && s.minutes >= begun[s.life]+from {
				points = append(points, point{s.minutes, s.life, v})
			}
		}
		f := fitLine(points)
		row := Row{Name: of.name, Unit: of.unit, Mean: f.mean, Value: f.slope, Bound: of.bound}
		if of.share {
			row.Bound *= f.mean
		}
		row.judge(f)
		rows = append(rows, row)
	}
	return rows
}

// judge is sure of what it says: a slope that may be on either side of the bound is not judged. Fewer than six
// blocks do not show that it is flat; that it rises is said as soon as it is certain.
func (r *Row) judge(f fit) {
	const fewest = 6
	if f.known {
		r.Margin = &f.margin
	}
	switch {
	case f.known && f.slope-f.margin > r.Bound:
		r.Verdict = Failed
	case !f.known || f.blocks < fewest:
		r.Verdict = TooShort
		r.Said = []string{fmt.Sprintf("%d minutes after the warm-up; %d are needed", f.blocks, fewest)}
	case f.slope+f.margin > r.Bound:
		r.Verdict = TooShort
		r.Said = []string{"it varies too much for this time"}
	default:
		r.Verdict = OK
	}
}

// most is a number that must not be above a bound.
func most(name, unit string, value, bound float64, said ...string) Row {
	r := Row{Name: name, Unit: unit, Value: value, Bound: bound, Verdict: OK, Said: said}
	if value > bound {
		r.Verdict = Failed
	}
	return r
}

// none is a list that must be empty. Of a long one, the first are shown.
func none(name string, what []string) Row {
	const shown = 5
	r := most(name, "", float64(len(what)), 0, what[:min(shown, len(what))]...)
	if len(what) > shown {
		r.Said = append(r.Said, fmt.Sprintf("and %d more", len(what)-shown))
	}
	return r
}

// least is a number that must be reached, or the run has shown nothing.
func least(name string, value, bound float64, said ...string) Row {
	r := Row{Name: name, Value: value, Bound: bound, Verdict: OK, Said: said}
	if value < bound {
		r.Verdict = Failed
	}
	return r
}

// leastFound is the share of the reports that must have a finding: programs with locks run nearly all the time, and a
// tracer that finds nothing is never wrong.
const leastFound = 0.2

// Passed reports whether no row failed.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Rows, func(x Row) bool { return x.Verdict == Failed })
}

// Summary is the last line of the table.
func (r *Report) Summary() string {
	var failed, short []string
	for _, x := range r.Rows {
		switch x.Verdict {
		case Failed:
			failed = append(failed, x.Name)
		case TooShort:
			short = append(short, x.Name)
		case OK:
		}
	}
	said := "passed"
	if len(failed) > 0 {
		said = "FAILED: " + strings.Join(failed, "; ")
	}
	if len(short) > 0 {
		said += ". Too short to judge: " + strings.Join(short, "; ")
	}
	return said
}
