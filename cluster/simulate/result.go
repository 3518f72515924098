package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// Result is the result of a run or a replay.
type Result struct {
	Alarms  []Alarm  `json:"alarms"`
	Table   []Row    `json:"table"`
	Targets []Target `json:"targets,omitempty"`
}

// Met reports whether all targets are reached.
func (r *Result) Met() bool {
	for _, t := range r.Targets {
		if !t.Met {
			return false
		}
	}
	return true
}

// WriteJSON writes the result as one object.
func (r *Result) WriteJSON(w io.Writer) error {
	out := *r
	if out.Alarms == nil {
		out.Alarms = []Alarm{}
	}
	if out.Table == nil {
		out.Table = []Row{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// titles of the parts, in their order.
var titles = []struct{ part, title string }{
	{partStraggler, "Stragglers"},
	{partGrid, "Stragglers at other steps and noises"},
	{partChange, "Changes of the whole cohort"},
	{partQuiet, "Nothing to find"},
	{partCase, "Special cases"},
	{partAmong, "Several fleets, and outages of one"},
	{partWork, "Unequal work"},
	{partReplay, "Replay, with stragglers put in"},
}

// WriteText writes the result as tables.
func (r *Result) WriteText(w io.Writer) error {
	for _, a := range r.Alarms {
		what := a.Type
		if a.Resolved {
			what += " resolved"
		}
		fmt.Fprintf(w, "%8.1f s  %s, rank %d, since %.1f s, excess %.0f %%\n", a.TimeS, what, a.Rank, a.SinceS, 100*a.Excess)
	}
	for _, part := range titles {
		if err := r.part(w, part.part, part.title); err != nil {
			return err
		}
	}
	if len(r.Targets) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nTargets\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range r.Targets {
		met := "met"
		if !x.Met {
			met = "NOT MET"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Name, x.Want, x.Got, met)
	}
	return t.Flush()
}

func (r *Result) part(w io.Writer, part, title string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	n := 0
	for _, x := range r.Table {
		if x.Part != part {
			continue
		}
		more, other := "", ""
		if part == partAmong { // verdicts that fleets give themselves
			more, other = "other\t", strconv.Itoa(x.Other)+"\t"
		}
		if n++; n == 1 {
			fmt.Fprintf(w, "\n%s\n\n", title)
			fmt.Fprintln(t, "case\tn\tstep\tnoise\ttrials\tfound\tF1\tin 10 s\tmedian\tp95\tfalse\t"+more+
				"rank-h\tper 1000 node-h")
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t"+other+"%.0f\t%s\n",
			x.Case, x.N, short(x.StepS, "s"), short(100*x.Noise, "%"), x.Trials, share(x.Found, x.Found+x.Missed),
			number(x.F1, 3), number(x.F1Soon, 3), number(x.MedianS, 1), number(x.P95S, 1),
			x.False, x.RankHour, number(x.PerNode, 2))
	}
	return t.Flush()
}

func share(n, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n, all)
}

func number(n Number, digits int) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, float64(n))
}

func short(n Number, unit string) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return strconv.FormatFloat(float64(n), 'g', 3, 64) + " " + unit
}
