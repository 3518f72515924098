package reports

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

func chainOf(kind, process, summary string) report.Chain {
	return report.Chain{Summary: summary, Cause: report.Cause{Kind: kind, Process: process}}
}

func TestJudge(t *testing.T) {
	truth := Truth{Kinds: []string{event.CauseLockContention}, Who: "^serve[0-9]$|serve[0-9]", Words: []string{"cudaEventCreate"}}
	right := chainOf(event.CauseLockContention, "serve1", "lost 9 % to a lock whose holder was in cudaEventCreate")
	other := chainOf(event.CauseCPUContention, "backup", "lost 3 %")
	grown := report.Change{Summary: "steps take 40 % longer", Process: "trainer"}
	for _, c := range []struct {
		name string
		r    report.Report
		want Grade
	}{
		{"nothing", report.Report{Verdict: "nothing wrong"}, Silent},
		{"all of it", report.Report{Chains: []report.Chain{right, other}}, Right},
		{"second", report.Report{Chains: []report.Chain{other, right}}, Half},
		{"the kind alone", report.Report{Chains: []report.Chain{chainOf(event.CauseLockContention, "x", "a lock")}}, Half},
		{"another", report.Report{Chains: []report.Chain{other}}, Wrong},
		{
			"the verdict is another finding than the first chain",
			report.Report{Verdict: grown.Summary + " (and 1 more)", Chains: []report.Chain{right}, Changes: []report.Change{grown}},
			Half,
		},
		{"not explained", report.Report{NotExplained: []report.NotExplained{{Why: "the cause was not recorded"}}}, Wrong},
	} {
		if got := truth.Judge(&c.r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	all := `{"kind":"lock_contention","culprit":"serve1","holding":"cudaEventCreate"}`
	if !truth.Told(event.CauseLockContention, all) {
		t.Error("an agent that read all of the truth was not told it")
	}
	if truth.Told(event.CauseCPUContention, all) || truth.Told(event.CauseLockContention, `{"culprit":"serve1"}`) {
		t.Error("an agent that read a part of the truth was told all of it")
	}
	cold := chainOf(event.CauseColdStart, "trainer", "first use")
	for _, c := range []struct {
		r    report.Report
		want Grade
	}{
		{report.Report{}, Right},
		{report.Report{Chains: []report.Chain{cold}}, Right},
		{report.Report{Chains: []report.Chain{other}}, Wrong},
		{report.Report{Changes: []report.Change{grown}}, Wrong},
	} {
		if got := JudgeControl(&c.r); got != c.want {
			t.Errorf("a control: %s, want %s: %+v", got, c.want, c.r)
		}
	}
}

// The programs of all cases are there, and what is written in Python can be parsed.
func TestCasesHaveTheirPrograms(t *testing.T) {
	names := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		text, err := sources.ReadFile("cases/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		if names[c.Name] || !strings.Contains(strings.ToLower(string(text)), "truth") {
			t.Errorf("%s: its name is used twice, or its program does not say what is true", c.Name)
		}
		names[c.Name] = true
		if !strings.HasSuffix(c.file, ".py") {
			continue
		}
		cmd := exec.Command("python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())")
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", c.file, err, out)
		}
	}
}

// Cases that nobody tunes on run only when they are asked for, and then no others.
func TestFinalCasesAreAGroupOfTheirOwn(t *testing.T) {
	for _, group := range []bool{false, true} {
		list, err := (&Options{Final: group, Ways: []Way{Launched}}).chosen()
		if err != nil {
			t.Fatal(err)
		}
		names := Names(group)
		if len(list) == 0 || len(list) != 2*len(names) { // with the fault and without it
			t.Errorf("final %v: %d runs of %d cases", group, len(list), len(names))
		}
		for i := range list {
			if list[i].Final != group {
				t.Errorf("final %v: %s is chosen", group, list[i].Name)
			}
		}
		if _, err := (&Options{Final: !group, Only: names[:1]}).chosen(); err == nil {
			t.Errorf("final %v: %s is chosen", !group, names[0])
		}
	}
}

// What a truth is written as can be matched.
func TestTruthsAreRegularExpressions(t *testing.T) {
	for i := range cases {
		truth := &cases[i].Truth
		for _, w := range append([]string{truth.Who}, truth.Words...) {
			if _, err := regexp.Compile(`(?i)` + w); err != nil {
				t.Errorf("%s: %v", cases[i].Name, err)
			}
		}
		for _, kind := range truth.Kinds {
			if !slices.Contains(event.Causes, kind) {
				t.Errorf("%s: there is no kind %q", cases[i].Name, kind)
			}
		}
	}
}
