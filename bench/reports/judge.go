package reports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/explain/report"
)

// Truth is what a diagnosis must say about a case, written down before it ran.
type Truth struct {
	// Kinds are the kinds of cause that are right; empty: any. A finding that steps changed has the kind "change", unless
	// it names the cause.
	Kinds []string
	// Who is a regular expression for the process or thread that is to blame; empty: the program's own thread, which
	// need not be named.
	Who string
	// Words are regular expressions for what else must be said: the function, the system call, the object.
	Words []string
}

// Grade is how right a diagnosis is.
type Grade string

// The grades. Of a control only Right and Wrong exist: it is right to say nothing of it.
const (
	Right  Grade = "right"  // the first finding says all of the truth
	Half   Grade = "half"   // a finding says a part of it, or all of it, but comes later
	Wrong  Grade = "wrong"  // there are findings, and none says anything of it
	Silent Grade = "silent" // there is no finding
)

// change is the kind of a finding that steps changed.
const change = "change"

// statement is one finding: its kind and everything that it says.
type statement struct {
	kind, text string
}

// statements lists the findings of a report, the first one first: as users read it, the verdict says which that is.
func statements(r *report.Report) (list []statement) {
	for i := range r.Chains {
		list = append(list, ofChain(&r.Chains[i]))
	}
	for i := range r.InFlight {
		f := &r.InFlight[i]
		list = append(list, statement{"hang", fmt.Sprintf("%s %s %s", f.Process, f.Op, strings.Join(f.Stack, " "))})
	}
	for i := range r.Changes {
		list = append(list, ofChange(&r.Changes[i]))
	}
	first := slices.IndexFunc(list, func(s statement) bool { return begins(r.Verdict, s.text) })
	if first > 0 {
		s := list[first]
		list = slices.Insert(slices.Delete(list, first, first+1), 0, s)
	}
	for i := range r.NotExplained {
		n := &r.NotExplained[i]
		list = append(list, statement{"unknown", fmt.Sprintf("%s %s %s", n.Effect.Process, n.Effect.Op, n.Why)})
	}
	return list
}

// firstKind is the kind of the first finding of a report; empty without one.
func firstKind(r *report.Report) string {
	if list := statements(r); len(list) > 0 {
		return list[0].kind
	}
	return ""
}

// begins reports whether the verdict is what a finding says first.
func begins(verdict, text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return first != "" && strings.HasPrefix(verdict, first)
}

func ofChain(c *report.Chain) statement {
	b := []string{c.Summary, c.Cause.Process, c.Cause.Thread, c.Cause.Detail, c.Effect.Op, c.Effect.Kernel}
	for _, s := range c.Path {
		b = append(b, s.Process, s.Thread, s.State, s.On)
	}
	for _, k := range c.Culprits {
		b = append(b, k.Process, k.Thread)
	}
	b = append(append(b, c.Stack...), c.Recommendations...)
	return statement{c.Cause.Kind, strings.Join(b, "\n")}
}

func ofChange(c *report.Change) statement {
	b := []string{c.Summary, c.Process}
	for _, p := range c.Parts {
		b = append(b, p.What)
	}
	return statement{cmp.Or(c.Cause, change), strings.Join(b, "\n")}
}

// says counts how much of a truth a finding says, and of how much.
func (t *Truth) says(s *statement) (n, of int) {
	if len(t.Kinds) > 0 {
		of++
		if slices.Contains(t.Kinds, s.kind) {
			n++
		}
	}
	for _, w := range append([]string{t.Who}, t.Words...) {
		if w == "" {
			continue
		}
		of++
		if regexp.MustCompile(`(?i)` + w).MatchString(s.text) {
			n++
		}
	}
	return n, of
}

// Told reports whether all of a truth was said: the kind of the finding that was asked for, and what was said.
func (t *Truth) Told(kind, said string) bool {
	n, of := t.says(&statement{kind, said})
	return n == of
}

// Judge grades a report of a run with the fault.
func (t *Truth) Judge(r *report.Report) Grade {
	list := statements(r)
	if len(list) == 0 {
		return Silent
	}
	grade := Wrong
	for i := range list {
		switch n, of := t.says(&list[i]); {
		case n == of && i == 0:
			return Right
		case n > 0:
			grade = Half
		}
	}
	return grade
}

// quiet are kinds that say something true of each run, which nobody has to act on.
var quiet = []string{"cold_start"}

// JudgeControl grades a report of a run without the fault.
func JudgeControl(r *report.Report) Grade {
	for _, s := range statements(r) {
		if !slices.Contains(quiet, s.kind) {
			return Wrong
		}
	}
	return Right
}
