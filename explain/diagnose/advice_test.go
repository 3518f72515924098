package diagnose_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
)

// ofPyTorch matches words that only help users of PyTorch.
var ofPyTorch = regexp.MustCompile(`(?i)torch|DataLoader|pin_memory|\.item\(\)|non_blocking|empty_cache`)

// Advice fits the process's framework. PyTorch terms are used for PyTorch programs only.
func TestAdviceFitsTheFramework(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"pageable_copy", "alloc_churn", "memory_leak", "implicit_sync", "implicit_sync_same_op", "implicit_sync_early",
		"graph_recapture", "graph_recapture_capturing",
		"input_starvation", "driver_cpu", "launch_bound", "graph_launch_drop", "graph_capture_failed",
	} {
		all := read(t, filepath.Join("testdata", name+".txtar"))
		for by, torch := range map[framework.Name]bool{
			framework.PyTorch: name != "driver_cpu", // its case is about launches
			framework.CUDA:    false, framework.Llama: false, framework.JAX: false, framework.CuPy: false, framework.ONNX: false,
		} {
			t.Run(name+" "+string(by), func(t *testing.T) {
				r := *all
				r.Processes = slices.Clone(all.Processes)
				traced := 0
				for i := range r.Processes {
					if p := &r.Processes[i]; p.Traced {
						p.Framework = by
						traced++
					}
				}
				if traced == 0 {
					t.Fatal("no traced process in the case")
				}
				report := diagnose.Diagnose(diagnosetest.InputOf(&r))
				if len(report.Chains) == 0 {
					t.Fatal("no finding")
				}
				said := strings.Join(report.Chains[0].Recommendations, "\n")
				if said == "" || strings.ContainsAny(said, "{}") || ofPyTorch.MatchString(said) != torch {
					t.Errorf("advised is:\n%s", said)
				}
			})
		}
	}
}
