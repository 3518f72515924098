package e2e_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/e2e"
	"github.com/ingero-io/ingero/internal/rig"
)

// hostFaults are causes on the host: waits of the victim itself, or waits for another thread.
var hostFaults = []struct {
	fault, kind string
	says        string // in the summary or the detail
	own         bool   // caused by the victim itself: no culprit
}{
	{"mem-pressure", "memory_pressure", "memory limit", true},
	{"mmap-io", "block_io", "mapped file", true},
	{"read-io", "block_io", "not in the page cache", true},
	{"peer-pipe", "peer_wait", "feature-store", false},
	{"peer-unix", "peer_wait", "feature-store", false},
	{"peer-tcp", "peer_wait", "feature-store", false},
	{"loader-cpu", "input_starvation", "data-worker", false},
	{"cond", "lock_contention", "condition", false},
	{"gil", "lock_contention", "released", false},
	{"pi-lock", "lock_contention", "held", false},
}

func TestWaitsAreFollowedToTheirRoot(t *testing.T) {
	for _, f := range hostFaults {
		t.Run(f.fault, func(t *testing.T) {
			r := e2e.Run(t, "--seconds", "4", "--start-after", "1", "--period-ms", "200", "--fault", f.fault)
			c := first(r, f.kind)
			if c == nil {
				t.Errorf("no %s", f.kind)
				dump(t, r)
				return
			}
			culprit := r.Truth.CulpritTID
			if f.own {
				culprit = r.Truth.TID
			}
			if int(c.Cause.TID) != culprit {
				t.Errorf("cause names thread %d, want %d", c.Cause.TID, culprit)
			}
			if !strings.Contains(c.Summary+c.Cause.Detail, f.says) {
				t.Errorf("%q is said neither in %q nor in %q", f.says, c.Summary, c.Cause.Detail)
			}
			if t.Failed() {
				dump(t, r)
			}
		})
	}
}

// first is the first chain, unless it is of the wrong kind. CPU contention may come before it: an
// unrelated thread may take the victim's CPU meanwhile.
func first(r *rig.Result, kind string) *report.Chain {
	for i := range r.Report.Chains {
		c := &r.Report.Chains[i]
		if c.Cause.Kind == kind {
			return c
		}
		if c.Cause.Kind != "cpu_contention" {
			return nil
		}
	}
	return nil
}
