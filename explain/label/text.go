package label

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// mostRows is how many rows the text has. JSON has all.
const mostRows = 40

// WriteText writes a result in lines of at most width columns.
func WriteText(w io.Writer, r *Result, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "by %s: %s\n", r.Key, report.Plural(uint64(len(r.Rows)), "value"))
	rows, left := r.shown()
	cells := [][]string{{r.Key, "process", "time", "calls", "in calls", "waits between calls"}}
	for _, row := range rows {
		cells = append(cells, row.cells())
	}
	widths := columnWidths(cells)
	for i, line := range cells {
		b.WriteString(strings.TrimRight(padded(line, widths), " ") + "\n")
		if i == 0 {
			continue
		}
		for _, c := range rows[i-1].Causes {
			for _, l := range report.Wrapped(width, "    ", c.words()) {
				b.WriteString(l + "\n")
			}
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "… and %s; --json has all\n", report.Plural(uint64(left), "more value"))
	}
	note := r.Note
	if n := len(r.Rows); r.Checks < n {
		note += fmt.Sprintf("; causes were looked for in %d of %d values, those of a second or more that waited most",
			r.Checks, n)
	}
	for _, l := range report.Wrapped(width, "note: ", note) {
		b.WriteString(l + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// words describes a cause in a line.
func (c *Cause) words() string {
	if c.Kind == "" {
		return fmt.Sprintf("%.0f %% lost, not explained: %s", c.LostPct, c.Summary)
	}
	return fmt.Sprintf("%.0f %% lost: %s (%s)", c.LostPct, c.Summary, c.Kind)
}

// shown returns the rows that the text has: all, or those that waited most, by time.
func (r *Result) shown() (list []*Row, left int) {
	for i := range r.Rows {
		list = append(list, &r.Rows[i])
	}
	if len(list) <= mostRows {
		return list, 0
	}
	slices.SortStableFunc(list, func(a, b *Row) int { return cmp.Compare(b.between(), a.between()) })
	left = len(list) - mostRows
	list = list[:mostRows]
	slices.SortStableFunc(list, func(a, b *Row) int { return cmp.Compare(a.FromNS, b.FromNS) })
	return list, left
}

// between returns how long the thread waited between calls, ns.
func (r *Row) between() (ns uint64) {
	for _, n := range r.BetweenNS {
		ns += n
	}
	return ns
}

func (r *Row) cells() []string {
	who := fmt.Sprintf("%s (%d)", report.Printable(r.Process), r.PID)
	if r.Node != "" {
		who += " on " + report.Printable(r.Node)
	}
	return []string{
		report.Printable(r.Value), who, report.Duration(r.TimeNS), report.Count(r.Calls), r.pct(r.CallNS),
		r.waitWords(),
	}
}

// pct formats a share of the row's time.
func (r *Row) pct(ns uint64) string {
	return fmt.Sprintf("%.0f %%", 100*float64(ns)/float64(max(r.TimeNS, 1)))
}

// waitWords returns the classes of waits between calls that took 1 % of the time or more, most first.
func (r *Row) waitWords() string {
	type wait struct {
		title string
		ns    uint64
	}
	var list []wait
	for c := range event.NumClasses {
		if ns := r.BetweenNS[c.String()]; 100*ns >= r.TimeNS && ns > 0 {
			list = append(list, wait{c.Title(), ns})
		}
	}
	slices.SortStableFunc(list, func(a, b wait) int { return cmp.Compare(b.ns, a.ns) })
	var words []string
	for _, x := range list {
		words = append(words, x.title+" "+r.pct(x.ns))
	}
	return strings.Join(words, ", ")
}

func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return widths
}

// padded formats a line of the table; numbers are right-aligned.
func padded(line []string, widths []int) string {
	var b strings.Builder
	for i, c := range line {
		fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i >= 2 && i <= 4 {
			b.WriteString(fill + c + "  ")
		} else {
			b.WriteString(c + fill + "  ")
		}
	}
	return b.String()
}
