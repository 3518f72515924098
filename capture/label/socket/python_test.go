package socket_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
)

// helper is the folder of the helper for Python programs.
const helper = "../../../python"

// python runs a Python program that can import the helper; the test is skipped without Python 3.8.
func python(t *testing.T, s string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil || exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 8))").Run() != nil {
		t.Skip("needs Python 3.8")
	}
	dir, err := filepath.Abs(helper)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "INGERO_ANNOTATE="+s, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func TestHelperForPython(t *testing.T) {
	t.Parallel()
	if out, err := python(t, "", filepath.Join(helper, "test_ingero.py")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestHelperForPythonSendsWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	s, at := listen(t)
	cmd := python(t, s.Path(), "-c", fmt.Sprintf(`
import ingero, os
ingero.span(%d, %[1]d + 5, task_id="a7")
ingero.set(step=1, phase="é\n", share=0.5, last=True)
with ingero.label(phase="x" * 300):
    if os.fork() == 0:
        ingero.set(worker=1)
        os._exit(0)
    os.wait()
`, at.UnixNano()-10))
	*at = at.AddDate(50, 0, 0) // labels that are ahead of the clock are refused
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []event.Label
	for _, l := range s.Poll(nil) {
		if l.Key != "" {
			got = append(got, l)
		}
	}
	var text, short string
	pids := map[uint32]int{}
	for _, l := range got {
		pids[l.PID]++
		if l.Key == "phase" {
			text += fmt.Sprint(len(l.Value), " ")
			continue
		}
		short += l.Key + "=" + l.Value + " "
	}
	if r := s.Refused(); r.Total() != 0 || len(pids) != 2 || text != "3 256 3 " {
		t.Errorf("refused %+v, processes %v, phases %q, others %q", r, pids, text, short)
	}
}
