package report

import (
	"fmt"
	"strings"
	"time"
)

// bars are the levels of a timeline, the first for no loss.
var bars = []rune("·▁▂▃▄▅▆▇█")

// maxBar is how many columns a timeline takes where there is room.
const maxBar = 40

// pattern draws a timeline of the lost time and describes it.
func (t *text) pattern(p *Pattern) {
	if p == nil {
		return
	}
	words := p.Kind
	from, to := clock(p.FromNS, time.TimeOnly), clock(p.ToNS, time.TimeOnly)
	switch p.Kind {
	case "once":
		switch {
		case p.ToNS == 0: // of an earlier Ingero
		case from == to:
			words += ", at " + from
		default:
			words += ", " + from + " to " + to
		}
	case "periodic":
		words = fmt.Sprintf("every %s, %s", Duration(p.PeriodNS), Plural(uint64(p.Times), "time"))
	case "irregular":
		words = Plural(uint64(p.Times), "time") + ", without a period"
	case "constant":
		words = "all the time"
	case "growing":
		words = "growing over time"
	case "burst":
		words = "mostly " + from + " to " + to
	}
	const label = "  when   "
	bar := bar(p.Timeline, min(maxBar, t.width-len(label)))
	if len(label)+visible(bar)+2+visible(words) <= t.width {
		t.line(label + bar + "  " + words)
		return
	}
	t.line(label + bar)
	t.wrap("         ", words)
}

// bar draws shares from 0 to 1 in at most so many columns; a column shows its highest share.
func bar(line []float64, columns int) string {
	columns = min(columns, len(line))
	var b strings.Builder
	for i := range columns {
		var most float64
		for _, v := range line[i*len(line)/columns : (i+1)*len(line)/columns] {
			most = max(most, v)
		}
		level := 0
		if most > 0 {
			level = 1 + min(len(bars)-2, int(most*float64(len(bars)-1)))
		}
		b.WriteRune(bars[level])
	}
	return b.String()
}

// steps gives the loss per step, and the duration of a step without it.
func (t *text) steps(c *Chain) {
	p, w := c.PerStep, c.WhatIf
	if p == nil || w == nil {
		return
	}
	s := fmt.Sprintf("%s of a mean step of %s, in %s of %s steps; without it a step takes %s (%s to %s)",
		Duration(p.LostNS), Duration(w.NowNS), Count(p.Affected), Count(p.Steps), Duration(w.StepNS), Duration(w.LowNS),
		Duration(w.HighNS))
	if w.FasterBy >= 1 {
		s += fmt.Sprintf(": %.0f %% faster", w.FasterBy)
	}
	if w.Remains != "" {
		s += "; what remains: " + w.Remains
	}
	t.wrap("  steps  ", s)
}

// rest says what other causes the lost time had.
func (t *text) rest(list []Rest) {
	label := "  rest   "
	for _, r := range list {
		t.short(1, label, fmt.Sprintf("%s of the %s: %s (%s)", pct(r.Pct), r.Of, r.What, Duration(r.NS)))
		label = "         "
	}
}

// culprits lists them with their shares, if there are several.
func (t *text) culprits(list []Culprit) {
	if len(list) == 0 {
		return
	}
	var parts []string
	for _, c := range list {
		who := c.Process
		if c.Thread != "" && c.Thread != c.Process {
			who += "/" + c.Thread
		}
		parts = append(parts, fmt.Sprintf("%s (pid %d) %s, %s", who, c.PID, pct(c.Pct), Duration(c.NS)))
	}
	t.short(briefWho, "  who    ", strings.Join(parts, "; "))
}

// doubts lists other causes considered, and the evidence against this one.
func (t *text) doubts(c *Chain) {
	label := "  also   "
	for _, a := range c.Alternatives {
		t.short(1, label, fmt.Sprintf("%s, %s: %s", a.Kind, pct(a.Pct), a.Why))
		label = "         "
	}
	if c.Counter != "" {
		t.short(briefWho, "  but    ", c.Counter)
	}
}

// workloads describes the steps, thread by thread.
func (t *text) workloads(list []Workload) {
	if len(list) > 0 {
		t.line("")
	}
	for _, w := range list {
		s := fmt.Sprintf("%s (tid %d): %s of %s; p50 %s, p99 %s", w.Process, w.TID, Plural(w.Steps, "step"), w.PerStep,
			Duration(w.P50NS), Duration(w.P99NS))
		if w.WarmupNS > 0 {
			s += ", after " + Duration(w.WarmupNS) + " of warm-up"
		}
		if w.Trend != 0 {
			s += fmt.Sprintf(", %+.0f %% from the first quarter to the last", w.Trend)
		}
		t.wrap("[steps] "+at(w.Node), s)
		if len(w.Account) > 0 {
			t.wrap("        ", w.StepWords())
		}
	}
}

// StepWords say where a mean step goes: "a mean step of 6.4 ms: 3.9 ms waiting for the GPU, 1.6 ms on a CPU between
// calls". Without an account they are empty.
func (w *Workload) StepWords() string {
	if len(w.Account) == 0 {
		return ""
	}
	var parts []string
	for _, p := range w.Account {
		parts = append(parts, fmt.Sprintf("%s %s", Duration(p.NS), p.What))
	}
	return fmt.Sprintf("a mean step of %s: %s", Duration(w.MeanNS), strings.Join(parts, ", "))
}
