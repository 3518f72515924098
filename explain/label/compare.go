package label

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Comparison is how long each value of a label took on two sides, such as each epoch of two runs. Times are
// nanoseconds, and means over the intervals in which a value held.
type Comparison struct {
	Schema int           `json:"schema"`
	Key    string        `json:"key"`
	A      string        `json:"a"` // recordings
	B      string        `json:"b"`
	Source string        `json:"source"` // of the sums of both: seconds, calls
	Rows   []ComparedRow `json:"rows"`   // in the order of side B
	OnlyA  []string      `json:"only_a"` // values that the other side lacks
	OnlyB  []string      `json:"only_b"`
}

// ComparedRow is a value on both sides.
type ComparedRow struct {
	Value        string  `json:"value"`
	Process      string  `json:"process"`
	APID         uint32  `json:"a_pid"`
	BPID         uint32  `json:"b_pid"`
	ANS          float64 `json:"a_ns"`
	BNS          float64 `json:"b_ns"`
	DifferenceNS float64 `json:"difference_ns"` // the sum of Parts
	SlowerPct    float64 `json:"slower_pct"`    // the same as a share of A's; negative: faster
	Parts        []Part  `json:"parts"`         // the largest first
}

// Part is a part of the difference of a value's time.
type Part struct {
	What  string  `json:"what"` // waits in calls, waits between calls, or not in a recorded wait
	Class string  `json:"class,omitempty"`
	NS    float64 `json:"ns"`
}

// What parts are about.
const (
	InCalls      = "in calls"
	BetweenCalls = "between calls"
	NoWait       = "not in a recorded wait" // on a CPU, or in waits that are too short to be recorded
)

// Compare pairs the values of two results of the same key. Processes with a value are paired by name, and by process
// id if several have the same name.
func Compare(a, b *Result) *Comparison {
	c := &Comparison{
		Schema: Schema, Key: b.Key, A: a.DB, B: b.DB, Source: b.Source, Rows: []ComparedRow{},
		OnlyA: []string{}, OnlyB: []string{},
	}
	if a.Source == Calls {
		c.Source = Calls
	}
	type id struct{ value, process string }
	byPID := func(rows []Row) map[id][]*Row {
		m := map[id][]*Row{}
		for i := range rows {
			k := id{rows[i].Value, rows[i].Process}
			m[k] = append(m[k], &rows[i])
		}
		for _, l := range m {
			slices.SortStableFunc(l, func(x, y *Row) int {
				return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID))
			})
		}
		return m
	}
	inA, inB := byPID(a.Rows), byPID(b.Rows)
	done := map[id]bool{}
	for i := range b.Rows {
		k := id{b.Rows[i].Value, b.Rows[i].Process}
		if done[k] {
			continue
		}
		done[k] = true
		for n := range min(len(inA[k]), len(inB[k])) {
			c.Rows = append(c.Rows, comparedRow(inA[k][n], inB[k][n]))
		}
		if len(inA[k]) == 0 {
			c.OnlyB = append(c.OnlyB, k.value)
		}
	}
	for i := range a.Rows {
		k := id{a.Rows[i].Value, a.Rows[i].Process}
		if len(inB[k]) == 0 && !done[k] {
			c.OnlyA = append(c.OnlyA, k.value)
		}
		done[k] = true
	}
	return c
}

func comparedRow(a, b *Row) ComparedRow {
	na, nb := float64(max(a.Intervals, 1)), float64(max(b.Intervals, 1))
	r := ComparedRow{
		Value: b.Value, Process: b.Process, APID: a.PID, BPID: b.PID, ANS: math.Round(float64(a.TimeNS) / na),
		BNS: math.Round(float64(b.TimeNS) / nb), Parts: []Part{},
	}
	r.DifferenceNS = r.BNS - r.ANS
	if r.ANS > 0 {
		r.SlowerPct = math.Round(1000*r.DifferenceNS/r.ANS) / 10
	}
	rest := r.DifferenceNS
	add := func(what string, x, y map[string]uint64) {
		for class := range event.NumClasses {
			name := class.String()
			if ns := math.Round(float64(y[name])/nb - float64(x[name])/na); ns != 0 {
				r.Parts = append(r.Parts, Part{what, name, ns})
				rest -= ns
			}
		}
	}
	add(InCalls, a.InNS, b.InNS)
	add(BetweenCalls, a.BetweenNS, b.BetweenNS)
	if rest != 0 {
		r.Parts = append(r.Parts, Part{What: NoWait, NS: rest})
	}
	slices.SortStableFunc(r.Parts, func(x, y Part) int { return cmp.Compare(math.Abs(y.NS), math.Abs(x.NS)) })
	return r
}

// SlowerThan reports whether a value takes so many percent longer in B than in A.
func (c *Comparison) SlowerThan(percent float64) bool {
	return slices.ContainsFunc(c.Rows, func(r ComparedRow) bool { return r.SlowerPct > percent })
}

// WriteText writes a comparison in lines of at most width columns.
func (c *Comparison) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "by %s: %s on both sides\n", c.Key, report.Plural(uint64(len(c.Rows)), "value"))
	cells := [][]string{{c.Key, "process", "A", "B", "difference", "most of it"}}
	rows := c.shown()
	for _, r := range rows {
		cells = append(cells, r.cells())
	}
	widths := columnWidths(cells)
	for _, line := range cells {
		b.WriteString(strings.TrimRight(padded(line, widths), " ") + "\n")
	}
	if left := len(c.Rows) - len(rows); left > 0 {
		fmt.Fprintf(&b, "… and %s; --json has all\n", report.Plural(uint64(left), "more value"))
	}
	for i, list := range [][]string{c.OnlyA, c.OnlyB} {
		if len(list) == 0 {
			continue
		}
		text := report.Printable(strings.Join(list[:min(len(list), mostOnly)], ", "))
		if len(list) > mostOnly {
			text += ", …"
		}
		for _, l := range report.Wrapped(width, fmt.Sprintf("only in %c: ", 'A'+i), text) {
			b.WriteString(l + "\n")
		}
	}
	for _, l := range report.Wrapped(width, "note: ", notes[c.Source]) {
		b.WriteString(l + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mostOnly is how many values of only one side the text has.
const mostOnly = 12

// shown returns the rows that the text has: all, or those that differ most, in their order.
func (c *Comparison) shown() []*ComparedRow {
	var list []*ComparedRow
	order := map[*ComparedRow]int{}
	for i := range c.Rows {
		list = append(list, &c.Rows[i])
		order[&c.Rows[i]] = i
	}
	if len(list) <= mostRows {
		return list
	}
	slices.SortStableFunc(list, func(x, y *ComparedRow) int {
		return cmp.Compare(math.Abs(y.DifferenceNS), math.Abs(x.DifferenceNS))
	})
	list = list[:mostRows]
	slices.SortFunc(list, func(x, y *ComparedRow) int { return cmp.Compare(order[x], order[y]) })
	return list
}

func (r *ComparedRow) cells() []string {
	ns := func(v float64) string { return report.Duration(uint64(math.Max(0, v))) }
	most := ""
	for i := range r.Parts {
		if p := &r.Parts[i]; p.NS > 0 == (r.DifferenceNS > 0) {
			most = p.words()
			break
		}
	}
	return []string{
		report.Printable(r.Value), report.Printable(r.Process), ns(r.ANS), ns(r.BNS),
		fmt.Sprintf("%s (%+.0f %%)", report.Signed(int64(r.DifferenceNS)), r.SlowerPct), most,
	}
}

func (p *Part) words() string {
	if c, ok := event.ClassByName(p.Class); ok {
		return fmt.Sprintf("%s %s %s", report.Signed(int64(p.NS)), c.Title(), p.What)
	}
	return report.Signed(int64(p.NS)) + " " + p.What
}
