package probe_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestMapWatcherSeesAProgramThatStarts(t *testing.T) {
	kerneltest.Require(t)
	w, err := probe.NewMapWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(5000); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	w.Drain(func(m probe.Mapped) {
		if m.PID == cmd.Process.Pid && m.Inode != 0 {
			seen[filepath.Base(m.Path)] = true
		}
	})
	for _, want := range []string{filepath.Base(program), "libc.so.6"} {
		if !seen[want] {
			t.Errorf("mapping of %s not seen, only %v", want, seen)
		}
	}
}
