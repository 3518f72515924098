package diagnose_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/event"
)

// TestHealthyProgramIsHealthyFromTheStart: what is told while a program runs is found by
// the same rules as what is told afterwards, from less. That must not be more.
func TestHealthyProgramIsHealthyFromTheStart(t *testing.T) {
	for _, name := range []string{
		"healthy", "control_decode_eager", "control_decode_thinned", "control_graph_waits_attached",
		"control_waits_unseen_launches", "control_launch_busy", "gpu_wait_uniform",
	} {
		all := read(t, filepath.Join("testdata", name+".txtar"))
		for _, d := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second} {
			some := *all
			some.Calls = slices.DeleteFunc(slices.Clone(all.Calls), func(c event.Call) bool {
				return c.End() > all.Base+uint64(d)
			})
			for _, c := range diagnose.Diagnose(diagnose.InputOf(&some)).Chains {
				t.Errorf("%s after %s: %s %s", name, d, c.Severity, c.Summary)
			}
		}
	}
}
