package probe_test

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestMapWatcherSeesAProgramThatStarts(t *testing.T) {
	kerneltest.Require(t)
	w, err := probe.NewMapWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := files.Start(t.Context(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(5000); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	w.Drain(func(m probe.Mapped) {
		if m.PID == program.PID() && m.Inode != 0 {
			seen[filepath.Base(m.Path)] = true
		}
	})
	for _, want := range []string{filepath.Base(files.Victim), "libcudart.so.12", "libc.so.6"} {
		if !seen[want] {
			t.Errorf("mapping of %s not seen, only %v", want, seen)
		}
	}
}
