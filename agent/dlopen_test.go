package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// A library that is loaded by dlopen is called at once: what is attached to only when its
// mapping is noticed misses those calls, the more of them the busier the machine is.
func TestACommandsPythonPackagesAreTracedFromTheirFirstCall(t *testing.T) {
	files := extract(t)
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		kerneltest.Lacks(t, "/usr/bin/python3 is missing")
	}
	venv := t.TempDir()
	bin, lib := filepath.Join(venv, "bin"), filepath.Join(venv, "lib/python3.11/site-packages/nvidia/cu12/lib")
	for _, dir := range []string{bin, lib} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(python, filepath.Join(bin, "python3")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(lib, os.DirFS(files.LibDir)); err != nil {
		t.Fatal(err)
	}
	got, losses := traceDlopen(t, filepath.Join(bin, "python3"), filepath.Join(lib, "libcudart.so.12"))
	if got != dlopenCalls {
		t.Errorf("the program made %d calls, %d recorded", dlopenCalls, got)
	}
	for _, l := range losses {
		if l.Kind.Counts() || l.Kind == event.LostLate {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
}

// From a folder that is not known in advance, calls are missed: all of them, if the program
// ends before the library is noticed. The recording says so.
func TestMissedCallsOfALibraryAttachedLateAreReported(t *testing.T) {
	files := extract(t)
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		kerneltest.Lacks(t, "/usr/bin/python3 is missing")
	}
	lib := t.TempDir()
	if err := os.CopyFS(lib, os.DirFS(files.LibDir)); err != nil {
		t.Fatal(err)
	}
	got, losses := traceDlopen(t, python, filepath.Join(lib, "libcudart.so.12"))
	late := slices.ContainsFunc(losses, func(l event.Loss) bool { return l.Kind == event.LostLate })
	if got != dlopenCalls && !late {
		t.Errorf("the program made %d calls, %d recorded, and nothing is said of being late: %v", dlopenCalls, got, losses)
	}
}

const dlopenCalls = 1000

// traceDlopen traces a program that loads a library and calls it; it returns how many of
// its calls were recorded.
func traceDlopen(t *testing.T, python, lib string) (got int64, losses []event.Loss) {
	t.Helper()
	c := newCounter()
	o := c.options()
	o.Command = []string{python, "testdata/python/dlopen.py", lib, strconv.Itoa(dlopenCalls)}
	s, err := agent.Run(t.Context(), o)
	if err != nil || s.ExitCode != 0 {
		t.Fatalf("exit code %d, %v", s.ExitCode, err)
	}
	for _, ops := range c.calls {
		got += ops[operation("cudaStreamSynchronize")]
	}
	return got, s.Losses
}
