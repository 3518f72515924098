package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// A brief report of one finding fits a terminal of 24 lines. Its last line says what it leaves out.
const (
	briefCause = 3 // lines of text at most
	briefWho   = 1
	briefFix   = 5
	briefPath  = 4 // steps at most
)

// short writes s as wrap does, but at most so many lines if the report is brief. It then ends with
// ….
func (t *text) short(most int, label, s string) {
	lines := t.wrapped(label, s)
	if t.brief && len(lines) > most {
		lines = lines[:most]
		last := []rune(lines[most-1])
		if len(last) > t.width-2 {
			last = last[:t.width-2]
		}
		lines[most-1] = strings.TrimRight(string(last), " ,;:") + " …"
		t.hidden = true
	}
	for _, l := range lines {
		t.line(l)
	}
}

// full runs f unless the report is brief.
func (t *text) full(f func()) {
	if t.brief {
		t.hidden = true
		return
	}
	f()
}

// noPlace is a line of a stack that names no code: a mere address, or that the rest is not known.
var noPlace = regexp.MustCompile(`^(0x[0-9a-f]+$|… )`)

// from names the place in the program that made the calls: the innermost function outside of CUDA's
// libraries, Python functions first. An address in no file is not a place to look at.
func (t *text) from(frames []string) {
	i := slices.IndexFunc(frames, pythonLine.MatchString)
	if i < 0 {
		i = slices.IndexFunc(frames, func(f string) bool { return !strings.Contains(f, "libcu") && !noPlace.MatchString(f) })
	}
	if i >= 0 {
		t.wrap("  in     ", ShortName(frames[i], t.width-stackLabelSize))
	}
	t.hidden = t.hidden || len(frames) > 1
}

// fixes writes what to do, whole recommendations only.
func (t *text) fixes(list []string) {
	label, lines := "  fix    ", 0
	for i, s := range list {
		w := t.wrapped(t.paint(cyan, label), s)
		if lines += len(w); t.brief && i > 0 && lines > briefFix {
			t.hidden = true
			return
		}
		for _, l := range w {
			t.line(l)
		}
		label = "         "
	}
}

// lostBrief names the first kind of what is missing: calls, if there are any.
func (t *text) lostBrief(parts []string) {
	s := parts[0]
	if more := len(parts) - 1; more > 0 {
		s += ", and " + Plural(uint64(more), "other kind") + " (--verbose)"
		t.hidden = true
	}
	t.wrap(t.paint(yellow, "not recorded: "), s)
}

// sayHidden says how to see what a brief report leaves out.
func (t *text) sayHidden() {
	if t.hidden {
		t.wrap("", t.paint(dim, "with --verbose: stacks, events, the slow calls and whatever is not shown here"))
	}
}

// alone reports whether the verdict equals the only finding's summary, which is then not repeated.
func (t *text) alone(r *Report) bool {
	return t.brief && len(r.Chains) == 1 && r.Verdict == r.Chains[0].Summary
}

// severityColor returns the colour of a severity's label.
func severityColor(severity event.Severity) string {
	if severity == event.SeverityHigh {
		return red
	}
	return yellow
}

// dropped describes the records that were dropped, a part for each kind.
func dropped(lost map[string]uint64) (parts []string) {
	known := map[string]bool{}
	for i := range event.Losses {
		l := &event.Losses[i]
		known[l.Name] = true
		if v := lost[l.Name]; v > 0 {
			parts = append(parts, Count(v)+" "+l.Words(v))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(lost)) {
		if v := lost[k]; v > 0 && !known[k] { // from a newer Ingero
			parts = append(parts, Count(v)+" "+k)
		}
	}
	return parts
}

// pct formats a percentage, with one decimal below ten.
func pct(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return fmt.Sprintf("%.1f %%", v)
	}
	return fmt.Sprintf("%.0f %%", v)
}
