package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// sysfs makes one of a machine with two memory nodes, of which node 1 has all CPUs that tests run on, and with the
// GPU that the stand-in library invents at the given node.
func sysfs(t *testing.T, gpuNode string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"devices/system/node/node0/cpulist":      "4096-4097",
		"devices/system/node/node1/cpulist":      "0-4095",
		"bus/pci/devices/0000:01:00.0/numa_node": gpuNode,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// explained records a program that gives a GPU work and waits for it, and explains the recording.
func explained(t *testing.T, nvml, sys string) (*report.Report, []store.GPUDevice) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.db")
	_, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, NVML: []string{nvml}, SysRoot: sys,
		Command: []string{extract(t).Victim, "loop", "--seconds", "3", "--sync-us", "2000"},
		Record: &agent.Recording{Path: path, Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(path, sqlite.Options{Session: s})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	devices, err := store.List[store.GPUDevice](t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := diagnose.Load(t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return diagnose.Diagnose(in), devices
}

// Where a GPU is attached is read when it is found, recorded, and held against where threads run.
func TestAProcessOnTheWrongMemoryNodeIsReported(t *testing.T) {
	kerneltest.Require(t)
	lib, err := cudastub.ExtractNVML(t.TempDir(), "gpus=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		node     string // of the GPU, in sysfs
		want     int
		reported bool
	}{{"0", 0, true}, {"1", 1, false}, {"-1", -1, false}} {
		r, devices := explained(t, lib.Dir, sysfs(t, tc.node))
		if len(devices) != 1 || devices[0].Node != tc.want {
			t.Errorf("node %s is recorded as %+v", tc.node, devices)
		}
		var found *report.Chain
		for i := range r.Chains {
			if r.Chains[i].Cause.Kind == event.CauseNUMAMisplacement {
				found = &r.Chains[i]
			}
		}
		if (found != nil) != tc.reported {
			t.Errorf("GPU at node %s: %s: %+v", tc.node, r.Verdict, r.Chains)
		}
		if found != nil && !strings.Contains(strings.Join(found.Recommendations, "\n"),
			"numactl --cpunodebind=0 --membind=0") {
			t.Errorf("fixes %q", found.Recommendations)
		}
	}
}
