package reports

import (
	"os/exec"
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
