package llama_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/internal/rig"
)

// coldModel makes a model of some 100 MB on a disk that is not in the page cache.
func coldModel(t *testing.T) string {
	t.Helper()
	dir, err := rig.Folder("ingero-cold-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "cold.gguf")
	shape := llama.Shape{Layers: 8, Embedding: 1024, Heads: 8, FeedForward: 4096, Vocabulary: 8192, Context: 512}
	if err := llama.WriteModel(path, shape, 1); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // written by Sync
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	return path
}

// A model that is not in the page cache is read by page faults, before the first launch.
func TestLoadingOfAColdModelIsReported(t *testing.T) {
	realtest.Require(t)
	kerneltest.Require(t)
	c := liveRun{gpu: "kernel.default=20us", args: []string{"--seconds", "3"}, model: coldModel(t)}
	_, r := c.watch(t)
	for i := range r.Report.Chains {
		if l := &r.Report.Chains[i]; l.Cause.Kind == event.CauseBlockIO && strings.Contains(l.Summary, "while it loaded") {
			t.Log(l.Summary)
			return
		}
	}
	const waits = "select 'waited', coalesce(sum(duration_ns), 0) from off_cpu where class = 'block_io'"
	if ns := query(t, r.Input.DB, waits)["waited"]; ns > 150e6 {
		t.Errorf("its threads waited %d ms for the disk, and no finding says so: %s", ns/1e6, r.Report.Verdict)
	}
	t.Logf("the disk is too fast to be waited for: %s", r.Report.Verdict)
}
