package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestAPIDInsideAContainerIsExplained(t *testing.T) {
	root := t.TempDir()
	id := "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809"
	for name, content := range map[string]string{
		"proc/4242/status": "NSpid:\t4242\t17\n", "proc/4242/task/4242/comm": "train\n",
		"proc/4242/cgroup": "0::/docker/" + id + "\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, owners := proc.New(filepath.Join(root, "proc")), owner.New(root)
	for pid, want := range map[int]string{
		17: "no such process: 17; in a container, 17 is process 4242 (train of container 1a2b3c4d5e6f " +
			"(docker)): pass the id that it has here",
		18: "no such process: 18; it may have ended (ingero check lists the processes that use CUDA)",
	} {
		err := noProcess(fs, owners, pid)
		if !errors.Is(err, ErrNoProcess) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
