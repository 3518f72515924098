package diagnose_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store/eventtext"
)

var update = flag.Bool("update", false, "write what Diagnose says into testdata")

// parsed caches the recordings of cases: some expand to 200,000 calls.
var parsed sync.Map

// reports caches what diagnosed returns.
var reports sync.Map

// read parses the input of a case. The recording is shared by the tests.
func read(t testing.TB, path string) *eventtext.Recording {
	t.Helper()
	if r, ok := parsed.Load(path); ok {
		return r.(*eventtext.Recording)
	}
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := eventtext.Parse(section(a, "input"))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	parsed.Store(path, r)
	return r
}

// inputs caches what input returns.
var inputs sync.Map

// input returns the input of a case. Tests share it and do not change it.
func input(t testing.TB, path string) *diagnose.Input {
	t.Helper()
	once, _ := inputs.LoadOrStore(path, sync.OnceValue(func() *diagnose.Input {
		return diagnosetest.InputOf(read(t, path))
	}))
	return once.(func() *diagnose.Input)()
}

// diagnosed returns the input of a case on a machine with two CPUs, and its report. Tests share both and
// change neither.
func diagnosed(t testing.TB, path string) (*diagnose.Input, *report.Report) {
	t.Helper()
	type pair struct {
		in *diagnose.Input
		r  *report.Report
	}
	once, _ := reports.LoadOrStore(path, sync.OnceValue(func() pair {
		in := *input(t, path)
		in.CPUs = 2
		return pair{&in, diagnose.Diagnose(&in)}
	}))
	p := once.(func() pair)()
	return p.in, p.r
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func cases(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases in testdata")
	}
	return paths
}

func TestDiagnose(t *testing.T) {
	for _, path := range cases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			_, r := diagnosed(t, path)
			got := checkedText(r)
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				a.Files = []txtar.File{{Name: "input", Data: []byte(section(a, "input"))}, {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(section(a, "want"), got); d != "" {
				t.Errorf("report differs (-want +got; -update writes it):\n%s", d)
			}
		})
	}
}

// checkedText returns the part of a report that a case checks.
func checkedText(r *report.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Verdict)
	for i := range r.Changes {
		c := &r.Changes[i]
		fmt.Fprintf(&b, "\n%s changed at %d, %s lost: %s\n", c.Kind, c.AtNS-min(r.Window.FromNS, c.AtNS),
			report.Duration(c.LostNS), c.Summary)
		for _, p := range c.Parts {
			fmt.Fprintf(&b, "  %d %s\n", p.NS, p.What)
		}
	}
	for _, c := range r.Chains {
		fmt.Fprintf(&b, "\n%s %s: %s\n", c.Severity, c.Cause.Kind, c.Summary)
		fmt.Fprintf(&b, "  explains %.0f%% of %.1f%%, %d waits\n", c.ExplainedPct, c.LostPct, c.Evidence.Sample)
		e := c.Effect
		fmt.Fprintf(&b, "  effect %s of %s/%d, %d of %d calls\n", e.Op, e.Process, e.TID, e.SlowCalls, e.Calls)
		if e.Kernel != "" {
			fmt.Fprintf(&b, "  kernel %s\n", e.Kernel)
		}
		for i := range c.Owners {
			fmt.Fprintf(&b, "  whose %s/%d: %s\n", c.Owners[i].Process, c.Owners[i].PID, c.Owners[i].Words())
		}
		fmt.Fprintf(&b, "  cause %s %d/%d %s: %s\n", c.Cause.Process, c.Cause.PID, c.Cause.TID, c.Cause.Thread,
			c.Cause.Detail)
		for _, s := range c.Path {
			fmt.Fprintf(&b, "  %s %s/%d %s on %s %s\n", s.Layer, s.Process, s.TID, s.State, s.On, report.Duration(s.NS))
		}
		if p := c.Pattern; p != nil {
			fmt.Fprintf(&b, "  %s, %d times", p.Kind, p.Times)
			if p.PeriodNS != 0 {
				fmt.Fprintf(&b, ", every %s", report.Duration(p.PeriodNS))
			}
			if p.BurstPct != 0 {
				from := r.Window.FromNS
				fmt.Fprintf(&b, ", %.0f%% from %d to %d", p.BurstPct, p.FromNS-from, p.ToNS-from)
			}
			b.WriteString("\n")
		}
		if p := c.PerStep; p != nil {
			fmt.Fprintf(&b, "  %s a step, in %d of %d steps\n", report.Duration(p.LostNS), p.Affected, p.Steps)
		}
		if w := c.WhatIf; w != nil {
			fmt.Fprintf(&b, "  without it %s a step (%s to %s) instead of %s\n", report.Duration(w.StepNS),
				report.Duration(w.LowNS), report.Duration(w.HighNS), report.Duration(w.NowNS))
			if w.Remains != "" {
				fmt.Fprintf(&b, "  remains %s\n", w.Remains)
			}
		}
		for _, p := range c.Culprits {
			fmt.Fprintf(&b, "  culprit %s/%d %.1f%% %s\n", p.Process, p.TID, p.Pct, report.Duration(p.NS))
		}
		if len(c.Also) > 0 {
			fmt.Fprintf(&b, "  kinds %s\n", strings.Join(c.Also, " "))
		}
		for _, r := range c.Rest {
			fmt.Fprintf(&b, "  rest %.1f%% of the %s: %s\n", r.Pct, r.Of, r.What)
		}
		for _, a := range c.Alternatives {
			fmt.Fprintf(&b, "  also %s, %.1f%%: %s\n", a.Kind, a.Pct, a.Why)
		}
		for _, s := range c.Recommendations {
			fmt.Fprintf(&b, "  fix %s\n", s)
		}
		if c.Counter != "" {
			fmt.Fprintf(&b, "  counter %s\n", c.Counter)
		}
	}
	for _, n := range r.NotExplained {
		fmt.Fprintf(&b, "\nnot explained: %s of %s lost %.1f%%, %.0f%% explained: %s\n", n.Effect.Op, n.Effect.Process,
			n.LostPct, n.ExplainedPct, n.Why)
	}
	for _, f := range r.InFlight {
		fmt.Fprintf(&b, "\nin flight: %s of %s/%d for %s, %s, hangs %v: %s\n", f.Op, f.Process, f.TID,
			report.Duration(f.AgeNS), f.Outcome, f.Hangs, f.WaitsFor)
	}
	for _, w := range r.Workloads {
		fmt.Fprintf(&b, "\nsteps of %s/%d: %d of %s, p50 %s, warm-up %s, trend %.1f%%\n", w.Process, w.TID, w.Steps,
			w.PerStep, report.Duration(w.P50NS), report.Duration(w.WarmupNS), w.Trend)
		for _, p := range w.Account {
			fmt.Fprintf(&b, "  %s of %s %s\n", report.Duration(p.NS), report.Duration(w.MeanNS), p.What)
		}
	}
	for _, e := range r.Ended {
		fmt.Fprintf(&b, "\nended: %s/%d: %s\n", e.Process, e.PID, e.Why)
	}
	for _, e := range r.GPUErrors {
		fmt.Fprintf(&b, "\nGPU error: %s, %d times\n", e.Description, e.Times)
		for _, f := range e.Failed {
			fmt.Fprintf(&b, "  then %s of %s/%d failed with %d, %d calls, after %s\n", f.Op, f.Process, f.PID, f.Ret, f.Calls,
				report.Duration(f.AfterNS))
		}
	}
	for _, q := range r.QueueWaits {
		fmt.Fprintf(&b, "\nGPU-bound: %s/%d %.0f%% in a full launch queue\n", q.Process, q.TID, q.Pct)
	}
	for _, i := range r.Idle {
		fmt.Fprintf(&b, "\nidle: %s/%d %.0f%% in %s\n", i.Process, i.TID, i.Pct, i.On)
	}
	return b.String()
}
