package torch

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func fetch(t *testing.T) Files {
	t.Helper()
	realtest.Require(t)
	f, err := Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// traced is what a run under the whole tracer gave.
type traced struct {
	db       string
	said     string
	recorded map[event.Op]uint64
	called   map[string]uint64 // by the hollow GPU's own count
	summary  agent.Summary
}

// trace runs a program as "ingero trace -- python3 ..." does, and reads the recording.
func trace(t *testing.T, f *Files, settings string, args ...string) traced {
	t.Helper()
	return traceWith(t, f, settings, probe.StackSlow, args...)
}

// traceWith is told of which calls stacks are to be taken.
func traceWith(t *testing.T, f *Files, settings string, stacks probe.StackPolicy, args ...string) (r traced) {
	t.Helper()
	kerneltest.Require(t)
	dir := t.TempDir()
	db, shared := filepath.Join(dir, "run.db"), filepath.Join(dir, "hollow")
	cmd := f.Command(t.Context(), shared, args...)
	for _, v := range f.Env(shared) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	t.Setenv("HOLLOW", settings)
	var out, errs bytes.Buffer
	var err error
	r.summary, err = agent.Run(t.Context(), agent.Options{
		Command: cmd.Args, UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), Stack: stacks,
		Stdout: &out, Stderr: &errs, InnerCalls: true,
		Record: &agent.Recording{Path: db, Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	})
	if err != nil || r.summary.ExitCode != 0 {
		t.Fatalf("exit code %d, %v\n%s", r.summary.ExitCode, err, tail(errs.String()))
	}
	r.said, r.db = out.String(), db
	rd, err := sqlite.OpenReader(db)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close() // a reader has nothing to lose
	stats, err := rd.OpStats(t.Context(), store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	r.recorded = map[event.Op]uint64{}
	for i := range stats {
		r.recorded[stats[i].Op] += stats[i].Calls
	}
	rows, err := hollow.Counts(shared)
	if err != nil {
		t.Fatal(err)
	}
	r.called = map[string]uint64{}
	for _, row := range rows {
		if row.Kind == hollow.Call {
			r.called[row.Name] += row.Count
		}
	}
	return r
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// compare fails the test unless each call of each operation was recorded.
func (r *traced) compare(t *testing.T) {
	t.Helper()
	var all, ops uint64
	for op := range event.Catalog {
		var want uint64
		for _, name := range event.Catalog[op].SymbolNames() {
			want += r.called[name]
		}
		got := r.recorded[event.Catalog[op].Op]
		if got != want {
			t.Errorf("%s: the GPU counts %d calls, %d recorded", event.Catalog[op].Name, want, got)
		}
		all += got
		if got > 0 {
			ops++
		}
	}
	if all < 1000 {
		t.Errorf("only %d calls recorded", all)
	}
	for _, l := range r.summary.Losses {
		if l.Kind.Counts() || l.Kind == event.LostLate {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
	t.Logf("%d calls of %d operations; the tracer used %d MB at most", all, ops, r.summary.MaxRSS>>20)
}

// last is the JSON line that the program says at its end.
func last(t *testing.T, said string, into any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("%v: %q", err, said)
	}
}

func TestTrainingIsRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	for _, model := range []string{"conv", "transformer"} {
		t.Run(model, func(t *testing.T) {
			checkpoint := filepath.Join(t.TempDir(), "checkpoint")
			r := trace(t, &f, "", "train.py", "--model", model, "--checkpoint", checkpoint)
			var end struct{ Steps, Evaluations int }
			if last(t, r.said, &end); end.Steps != 40 || end.Evaluations != 2 {
				t.Errorf("it says %s", r.said)
			}
			if info, err := os.Stat(checkpoint); err != nil || info.Size() < 100_000 {
				t.Errorf("the checkpoint: %v, %v", info, err)
			}
			r.compare(t)
			realtest.Covered(t, "PyTorch, training", r.called)
		})
	}
}

// hog uses up a CPU until the test ends.
func hog(t *testing.T) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	})
}

// The program checks that sums and copies of the ranks' data are right.
func TestRanksMeetAndAreRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	for _, ranks := range []string{"2", "4"} {
		t.Run(ranks, func(t *testing.T) {
			if ranks == "4" { // the more CPUs are used up, the later the tracer's turn comes
				for range 2 * runtime.NumCPU() {
					hog(t)
				}
			}
			r := trace(t, &f, "devices = 4", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, "ddp.py")
			if !strings.Contains(r.said, `"ranks": `+ranks) {
				t.Errorf("it says %s", r.said)
			}
			if r.called["ncclAllReduce"] == 0 || r.called["ncclCommInitRankConfig"]+r.called["ncclCommInitRank"] == 0 {
				t.Errorf("NCCL was hardly used: %v", r.called)
			}
			r.compare(t)
			realtest.Covered(t, "PyTorch, training by several ranks", r.called)
		})
	}
}

func TestGraphsAreRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	r := trace(t, &f, "", "graphs.py", "--steps", "50")
	if r.called["cudaGraphLaunch"] < 50 {
		t.Errorf("%d graphs launched", r.called["cudaGraphLaunch"])
	}
	r.compare(t)
	realtest.Covered(t, "PyTorch, graphs", r.called)
}

// Each fault strikes, and says when.
func TestFaultyTrainingTellsTheTruth(t *testing.T) {
	f := fetch(t)
	for _, fault := range []string{"worker-net", "mutex", "late-disk", "late-lock"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			program := "faulty.py"
			if strings.HasPrefix(fault, "late-") {
				program = "ranks.py"
			}
			cmd := f.Command(t.Context(), filepath.Join(dir, "hollow"), program, "--fault", fault, "--dir", dir)
			cmd.Env = append(cmd.Env, "HOLLOW=devices=2")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(out), "\n")
			struck := slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
				var v struct {
					What       string
					Begin, End uint64
				}
				return json.Unmarshal([]byte(l), &v) != nil || v.What != "fault" || v.End < v.Begin+30e6
			})
			if len(struck) < 2 || !strings.Contains(string(out), `"what": "end"`) {
				t.Errorf("it struck %d times: %s", len(struck), out)
			}
		})
	}
}
