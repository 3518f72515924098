package mcptool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
)

type comparedAnswer struct {
	Compared struct {
		With, Window, Verdict string
		Threads               []struct {
			Process       string
			PID           int64
			Change        string
			SlowerPct     float64 `json:"slower_pct"`
			NoisePct      float64 `json:"noise_pct"`
			Parts, Causes []string
		}
		Differs []string
	}
}

// TestDiagnoseComparesWithABaseline has a healthy run as the baseline of one whose CPU another program
// takes, and the two halves of one.
func TestDiagnoseComparesWithABaseline(t *testing.T) {
	paths := map[string]string{}
	for i := range demo.Scenarios {
		s := &demo.Scenarios[i]
		if s.Name != "healthy" && s.Name != "incident" {
			continue
		}
		paths[s.Name] = filepath.Join(t.TempDir(), s.Name+".db")
		if _, err := demo.Run(t.Context(), s, demo.Options{Replay: "for a test", Keep: paths[s.Name]}); err != nil {
			t.Fatal(err)
		}
	}
	baseline := source.New(paths["healthy"])
	t.Cleanup(func() { baseline.Close() })
	cs := connect(t, paths["incident"], mcptool.Options{Baselines: []recording.Source{baseline}})
	ask := func(with string) (out comparedAnswer) {
		t.Helper()
		res := call(t, cs, "diagnose", map[string]any{"baseline": with}, &out)
		if n := tokens(t, res); n > answerBudget {
			t.Errorf("with a baseline, diagnose answers in %d tokens, more than %d", n, answerBudget)
		}
		return out
	}

	c := ask("healthy.db").Compared
	if len(c.Threads) != 1 || c.Threads[0].SlowerPct <= c.Threads[0].NoisePct || !strings.Contains(c.Verdict, "longer") {
		t.Fatalf("the run with a neighbour is not slower than the healthy one: %+v", c)
	}
	th := c.Threads[0]
	if th.PID == 0 || th.Process == "" || !strings.Contains(th.Change, "a step takes") || len(th.Parts) == 0 ||
		!strings.Contains(th.Parts[0], "run queue") {
		t.Errorf("the largest part of the difference is not the run queue: %+v", th)
	}
	if len(th.Causes) == 0 || !strings.HasPrefix(th.Causes[0], "new cpu_contention") {
		t.Errorf("the neighbour is not named as new: %q", th.Causes)
	}
	for _, with := range []string{"0s-5s", "@0s-5s", "incident.db@0s-5s"} {
		if c := ask(with).Compared; !strings.HasPrefix(c.Verdict, "no difference beyond") || c.With != with {
			t.Errorf("the first half against all: %+v", c)
		}
	}
}

// TestNoFileIsABaselineThatWasNotNamed asks for what is no baseline.
func TestNoFileIsABaselineThatWasNotNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	other := filepath.Join(t.TempDir(), "secret.db")
	for i := range demo.Scenarios {
		if s := &demo.Scenarios[i]; s.Name == "healthy" {
			if _, err := demo.Run(t.Context(), s, demo.Options{Replay: "for a test", Keep: path}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(other, b, 0o600))
	cs := connect(t, path, mcptool.Options{})
	for with, want := range map[string]string{
		other:             "is not a part of a recording",
		other + "@0s-5s":  "there is no recording",
		"secret.db":       "--baseline FILE",
		"rank=7":          "no such process was recorded; traced were ",
		"5h-6h":           "nothing was recorded in 5h-6h",
		"@":               "there is no recording",
		"../run.db@pid=0": "there is no recording",
		"run.db@pid=0":    `pid="0" is not a process id`,
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "diagnose", Arguments: map[string]any{"baseline": with}})
		must(t, err)
		if !res.IsError || !strings.Contains(textOf(res), want) {
			t.Errorf("baseline %q: %s, want %q", with, textOf(res), want)
		}
	}
}
