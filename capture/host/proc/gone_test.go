package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestGone(t *testing.T) {
	t.Parallel()
	if proc.New("").Gone(os.Getpid()) {
		t.Error("this process is gone")
	}
	root := t.TempDir()
	if !proc.New(root).Gone(7) {
		t.Error("a process that is not there is not gone")
	}
	if err := os.MkdirAll(filepath.Join(root, "7", "task", "7", "comm"), 0o755); err != nil { // cannot be read
		t.Fatal(err)
	}
	if proc.New(root).Gone(7) {
		t.Error("a process that cannot be read is gone")
	}
}
