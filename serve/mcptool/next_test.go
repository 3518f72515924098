package mcptool

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
)

// TestALeakLeadsToWhatIsStillAllocated: the slow allocations that stacks tell of first are
// others.
func TestALeakLeadsToWhatIsStillAllocated(t *testing.T) {
	r := &report.Report{Chains: []report.Chain{{
		Cause:  report.Cause{Kind: diagnose.MemoryLeak},
		Effect: report.Effect{Op: "cudaMalloc", PID: 7},
	}}}
	q := nextOf(r, 0, &diagnoseIn{})
	if len(q) != 1 || q[0].Tool != "run_sql" || !strings.Contains(q[0].Args["sql"].(string), "from leak_candidates c") {
		t.Errorf("next is %+v", q)
	}
}
