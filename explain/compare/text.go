package compare

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/difference"
	"github.com/ingero-io/ingero/explain/report"
)

// verdict returns the result in one sentence.
func (r *Result) verdict() string {
	if len(r.Threads) == 0 {
		return "nothing to compare: no thread of one does what a thread of the other does"
	}
	var worst *Thread
	whole := func(t *Thread) float64 { return math.Abs(float64(t.DifferenceNS)) * t.A.Units }
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Changed && (worst == nil || whole(t) > whole(worst)) {
			worst = t
		}
	}
	if worst == nil {
		noise := 0.0
		for i := range r.Threads {
			noise = max(noise, r.Threads[i].NoisePct)
		}
		return fmt.Sprintf("no difference beyond ±%s %%, in %s", difference.Number(noise),
			report.Plural(uint64(len(r.Threads)), "thread"))
	}
	s := fmt.Sprintf("%s: %s", worst.Process, worst.Words())
	for _, p := range worst.Parts {
		if p.NS > 0 == (worst.DifferenceNS > 0) {
			return s + ", most of it: " + p.Text
		}
	}
	return s
}

// Words describes how a pair's units differ.
func (t *Thread) Words() string {
	ns := func(v float64) string { return report.Duration(uint64(math.Max(0, v))) }
	if !t.Changed {
		return fmt.Sprintf("%s %s, then %s: no difference beyond ±%s %%", t.takes(), ns(t.A.UnitNS), ns(t.B.UnitNS),
			difference.Number(t.NoisePct))
	}
	word, pct := "longer", t.SlowerPct
	if pct < 0 {
		word, pct = "shorter", -pct
	}
	how := fmt.Sprintf("%s %% %s", difference.Number(pct), word)
	if pct >= 100 && t.A.UnitNS > 0 {
		how = fmt.Sprintf("%.1f times as long", t.B.UnitNS/t.A.UnitNS)
	}
	return fmt.Sprintf("%s %s instead of %s, %s", t.takes(), ns(t.B.UnitNS), ns(t.A.UnitNS), how)
}

// takes begins a sentence on how long a unit takes.
func (t *Thread) takes() string {
	switch t.Unit {
	case step:
		return "a step takes"
	case second:
		return "in a second it works"
	}
	return "from one " + t.Unit + " to the next it takes"
}

// in ends a sentence on what happens in a unit.
func (t *Thread) in() string {
	switch t.Unit {
	case step, second:
		return "in a " + t.Unit
	}
	return "for each " + t.Unit
}

// WriteText writes a result as text.
func WriteText(w io.Writer, r *Result, width int) error {
	var b strings.Builder
	wrap := func(label, s string) {
		for _, l := range report.Wrapped(width, label, s) {
			b.WriteString(l + "\n")
		}
	}
	wrap("", r.Verdict)
	wrap("A  ", r.A.words())
	wrap("B  ", r.B.words())
	for i := range r.Threads {
		b.WriteString("\n")
		r.Threads[i].write(wrap)
	}
	unpaired := func(side string, list []Unpaired) {
		for _, u := range list {
			wrap("only in "+side+"  ", fmt.Sprintf("%s (pid %d, tid %d), %s calls", report.Printable(u.Process), u.PID, u.TID,
				report.Count(u.Calls)))
		}
	}
	if len(r.OnlyA)+len(r.OnlyB)+len(r.Changes)+len(r.Notes) > 0 {
		b.WriteString("\n")
	}
	unpaired("A", r.OnlyA)
	unpaired("B", r.OnlyB)
	for _, c := range r.Changes {
		wrap(c.Of+"  ", c.Words())
	}
	for _, n := range r.Notes {
		wrap("note: ", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (w *Window) words() string {
	at := func(ns uint64, layout string) string { return time.Unix(0, int64(ns)).UTC().Format(layout) }
	s := fmt.Sprintf("%s, %s to %s UTC (%s), %s calls", report.Printable(w.Name), at(w.FromNS, time.DateTime),
		at(w.ToNS, time.TimeOnly), report.Duration(w.ToNS-min(w.FromNS, w.ToNS)), report.Count(w.Events))
	if w.Node != "" {
		s += ", node " + report.Printable(w.Node)
	}
	return s
}

func (t *Thread) write(wrap func(label, s string)) {
	wrap("", fmt.Sprintf("%s (A: pid %d, tid %d; B: pid %d, tid %d): %s", report.Printable(t.Process), t.A.PID, t.A.TID,
		t.B.PID, t.B.TID, t.Words()))
	if t.A.Does == t.B.Does && t.A.Does != "" {
		wrap("  does   ", t.A.Does)
	} else if t.A.Does+t.B.Does != "" {
		wrap("  A does ", orNothing(t.A.Does))
		wrap("  B does ", orNothing(t.B.Does))
	}
	if !t.Changed {
		return
	}
	for _, p := range t.Parts {
		wrap(fmt.Sprintf("  %9s  ", report.Signed(p.NS)), p.Text)
	}
	if t.RestNS != 0 {
		wrap(fmt.Sprintf("  %9s  ", report.Signed(t.RestNS)), "all smaller parts")
	}
	for i := range t.Kernels {
		wrap("  "+t.Kernels[i].State+"  ", "kernel "+report.Printable(t.Kernels[i].Words(t)))
	}
	if t.MoreKernels > 0 {
		wrap("  ", "and "+report.Plural(uint64(t.MoreKernels), "kernel")+" more that are launched more or less often")
	}
	for _, c := range t.Causes {
		wrap("  "+c.State+"  ", c.Words(t))
	}
}

// Words describes the cost of a cause to a thread on both sides.
func (c *Cause) Words(t *Thread) string {
	who := c.Who
	if who != "" {
		who = " (" + report.Printable(who) + ")"
	}
	return fmt.Sprintf("%s%s: %s instead of %s lost %s; %s", c.Kind, who, orNone(c.BNS), orNone(c.ANS), t.in(), c.Summary)
}

// Words describes what differs, without its owner.
func (c *Change) Words() string {
	return report.Printable(fmt.Sprintf("%s: %s, then %s", c.What, c.A, c.B))
}

func orNone(ns int64) string {
	if ns <= 0 {
		return "none"
	}
	return report.Duration(uint64(ns))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing that repeats"
	}
	return s
}
