package python_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/internal/pythontest"
)

// start runs a program that prints a line and then waits; it returns its process id.
func start(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestInterpretersAreFoundInProcesses(t *testing.T) {
	f := python.NewFinder(proc.New(""))
	for _, in := range pythontest.Interpreters(t) {
		pid := start(t, in.Path, "-c", "import sys; print(flush=True); sys.stdin.read()")
		found, err := f.Find(pid)
		if in.Minor < python.Oldest || in.Minor > python.Newest {
			if _, ok := errors.AsType[*python.UnsupportedError](err); !ok {
				t.Errorf("Python %s: %+v, %v", in.Version, found, err)
			}
			t.Log(err)
			continue
		}
		if err != nil || found == nil {
			t.Errorf("Python %s: %+v, %v", in.Version, found, err)
			continue
		}
		if found.Version.Minor() != in.Minor || in.Minor > 10 && found.Version.String() != in.Version {
			t.Errorf("Python %s is taken for %s", in.Version, found.Version)
		}
	}
}

func TestOtherProgramsRunNoPython(t *testing.T) {
	f := python.NewFinder(proc.New(""))
	for range 2 { // the second time the file is known
		if found, err := f.Find(start(t, "sh", "-c", "echo; read x")); found != nil || err != nil {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if _, err := python.NewFinder(proc.New(t.TempDir())).Find(os.Getpid()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a process that is gone: %v", err)
	}
}
