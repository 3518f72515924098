package torch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

const repository = "../../.."

// tried is the part of the JSON file of gpu/run that is compared here.
type tried struct {
	ExitCode int `json:"exit_code"`
	Steps    []struct {
		Name, Outcome, Why string
		Facts              json.RawMessage
	}
}

// tryGPU runs gpu/run, and returns what it wrote and printed.
func tryGPU(t *testing.T, run string, env []string, args ...string) (r tried, printed string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{run, "--out", file}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(err, readErr)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != r.ExitCode {
		t.Errorf("it ended with %d, and its file says %d", code, r.ExitCode)
	}
	return r, string(out)
}

// Checks how gpu/run judges answers of CUPTI and nvidia-smi, which are not available here.
func TestTestsOfTheKitPass(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "python3", repository+"/gpu/tests/test_kit.py").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestKitWithoutPyTorchSaysSo(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python") // has the standard library only
	if err := os.WriteFile(python, []byte("#!/bin/sh\nexec python3 -I -S \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, printed := tryGPU(t, repository+"/gpu/run", nil, "--python", python)
	if r.ExitCode != 2 || len(r.Steps) < 8 {
		t.Errorf("exit code %d, %d steps", r.ExitCode, len(r.Steps))
	}
	for _, s := range r.Steps {
		if s.Outcome != "not done" || !strings.Contains(s.Why, "No module named 'torch'") {
			t.Errorf("%s: %s: %s", s.Name, s.Outcome, s.Why)
		}
	}
	if !strings.Contains(printed, "Could not run: PyTorch cannot be imported") {
		t.Error("it does not say plainly why it could not run")
	}
}

// What "make gpu-kit" packs is complete, and right on a GPU whose own counts are known. Steps that
// need NVIDIA's tools say so.
func TestKitOnTheHollowGPU(t *testing.T) {
	f := fetch(t)
	kerneltest.Require(t)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"make", "-C", repository, "gpu-kit"},
		{"tar", "-C", dir, "-xzf", repository + "/bin/ingero-gpu.tar.gz"},
		{"go", "build", "-o", dir + "/hollow", "github.com/ingero-io/ingero/internal/hollow/cmd"},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, realtest.Tail(string(out)))
		}
	}
	shared := filepath.Join(dir, "shared")
	env := append(f.Env(shared), "HOLLOW=kernel.default=80us")
	r, printed := tryGPU(t, dir+"/ingero-gpu/run", env, "--counts", dir+"/hollow counts "+shared, "--seconds", "180",
		"--cause-seconds", "2.5", "--only",
		"check,coverage,calls,nested,python,readings,nccl,causes,frameworks", "--causes", "pageable")
	want := map[string][2]string{
		"check": {"right", "attaches with"}, "coverage": {"right", "traced: yes"},
		"calls":  {"right", "agree with the counts of the simulated GPU (CUPTI: torch.profiler reported no CUDA call"},
		"python": {"right", "calls.py:"},
		"nested": {"measured", "call an exported launch"}, "readings": {"not done", "nvidia-smi not found"},
		"nccl": {"right", "2 ranks: not done, there is only one GPU"}, "causes": {"right", "reported right"},
		"frameworks": {"not done", "generate: ModuleNotFoundError: No module named 'transformers'"},
	}
	for _, s := range r.Steps {
		if w := want[s.Name]; s.Outcome != w[0] || !strings.Contains(s.Why, w[1]) {
			t.Errorf("%s: %s: %s; want %s: … %s", s.Name, s.Outcome, s.Why, w[0], w[1])
		}
		if !strings.Contains(printed, "\n"+s.Name+" ") {
			t.Errorf("the table has no line %s", s.Name)
		}
		if s.Name == "nested" {
			launchesAreNested(t, s.Facts)
		}
	}
	if r.ExitCode != 0 || len(r.Steps) != len(want) {
		t.Errorf("exit code %d, %d steps", r.ExitCode, len(r.Steps))
	}
}

// The hollow runtime calls the driver's exported launch function in each of its own launches.
func launchesAreNested(t *testing.T, facts json.RawMessage) {
	t.Helper()
	var nested struct {
		Runtime []struct {
			Runtime string
			Calls   int
			With    int `json:"with_driver_call"`
		}
	}
	if err := json.Unmarshal(facts, &nested); err != nil {
		t.Fatal(err)
	}
	launches := 0
	for _, r := range nested.Runtime {
		if strings.Contains(r.Runtime, "Launch") {
			launches += r.Calls
			if r.With != r.Calls {
				t.Errorf("of %d %s %d have a driver call within", r.Calls, r.Runtime, r.With)
			}
		}
	}
	if launches < 100 {
		t.Errorf("%d launches", launches)
	}
}
