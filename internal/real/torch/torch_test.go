package torch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/real/realtest"
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

// trace runs a program as "ingero trace -- python3 ..." does, and reads the recording.
func trace(t *testing.T, f *Files, settings string, args ...string) realtest.Traced {
	t.Helper()
	return traceWith(t, f, settings, probe.StackSlow, args...)
}

// traceWith is trace with a stack policy.
func traceWith(t *testing.T, f *Files, settings string, stacks probe.StackPolicy, args ...string) realtest.Traced {
	t.Helper()
	shared := filepath.Join(t.TempDir(), "hollow")
	return realtest.Trace(t, f.Command(t.Context(), shared, args...).Args, f.Env(shared), settings, stacks)
}

// last reads the JSON line that the program prints at its end.
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
			if last(t, r.Said, &end); end.Steps != 40 || end.Evaluations != 2 {
				t.Errorf("it says %s", r.Said)
			}
			if info, err := os.Stat(checkpoint); err != nil || info.Size() < 100_000 {
				t.Errorf("the checkpoint: %v, %v", info, err)
			}
			r.Compare(t)
			realtest.Covered(t, "PyTorch, training", r.Called)
		})
	}
}

// hog keeps a CPU busy until the test ends.
func hog(t *testing.T) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	// torchrun starts each rank in a session of its own, and the kernel divides CPU time among sessions first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
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
func TestCollectivesOfRanksAreRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	for _, ranks := range []string{"2", "4"} {
		t.Run(ranks, func(t *testing.T) {
			if ranks == "4" { // the more CPUs are busy, the later the tracer runs
				for range 2 * runtime.NumCPU() {
					hog(t)
				}
			}
			r := trace(t, &f, "devices = 4", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, "ddp.py")
			if !strings.Contains(r.Said, `"ranks": `+ranks) {
				t.Errorf("it says %s", r.Said)
			}
			if r.Called["ncclAllReduce"] == 0 || r.Called["ncclCommInitRankConfig"]+r.Called["ncclCommInitRank"] == 0 {
				t.Errorf("NCCL was hardly used: %v", r.Called)
			}
			if ranks == "4" {
				r.CompareLate(t)
			} else {
				r.Compare(t)
			}
			realtest.Covered(t, "PyTorch, training by several ranks", r.Called)
		})
	}
}

func TestGraphsAreRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	r := trace(t, &f, "", "graphs.py", "--steps", "50")
	if r.Called["cudaGraphLaunch"] < 50 {
		t.Errorf("%d graphs launched", r.Called["cudaGraphLaunch"])
	}
	r.Compare(t)
	realtest.Covered(t, "PyTorch, graphs", r.Called)
}

// Each fault happens, and the program reports when.
func TestFaultyTrainingReportsItsFaults(t *testing.T) {
	f := fetch(t)
	for _, fault := range []string{"worker-net", "mutex", "recapture", "late-disk", "late-lock", "late-faults"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			program, steps, least := "faulty.py", "60", uint64(30e6) // ns that it strikes
			switch {
			case strings.HasPrefix(fault, "late-"):
				program = "ranks.py"
			case fault == "mutex": // it happens at times, not at steps, and a step takes a millisecond
				steps = "400"
			case fault == "recapture": // so many calls, not so long
				least = 1
			}
			cmd := f.Command(t.Context(), filepath.Join(dir, "hollow"), program,
				"--fault", fault, "--steps", steps, "--dir", dir)
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
				return json.Unmarshal([]byte(l), &v) != nil || v.What != "fault" || v.End < v.Begin+least
			})
			if len(struck) < 2 || !strings.Contains(string(out), `"what": "end"`) {
				t.Errorf("it struck %d times: %s", len(struck), out)
			}
		})
	}
}
