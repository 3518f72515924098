package mcptool

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// TestALeakLeadsToWhatIsStillAllocated: the slow allocations that stacks tell of first are
// others.
func TestALeakLeadsToWhatIsStillAllocated(t *testing.T) {
	r := &report.Report{Chains: []report.Chain{{
		Cause:  report.Cause{Kind: event.CauseMemoryLeak},
		Effect: report.Effect{Op: "cudaMalloc", PID: 7},
	}}}
	q := nextOf(r, 0, &diagnoseIn{})
	if len(q) != 1 || q[0].Tool != "run_sql" || !strings.Contains(q[0].Args["sql"].(string), "from leak_candidates c") {
		t.Errorf("next is %+v", q)
	}
}

// A finding that loses no time does not say how much, and leads to where the threads ran.
func TestAWrongNodeLeadsToTheCPUs(t *testing.T) {
	r := &report.Report{Chains: []report.Chain{
		{Cause: report.Cause{Kind: event.CauseDriverCPU}, Effect: report.Effect{Op: "cudaMalloc", PID: 7}, LostNS: 1},
		{Cause: report.Cause{Kind: event.CauseNUMAMisplacement}, Effect: report.Effect{Op: "cudaLaunchKernel", PID: 7}},
	}}
	if q := nextOf(r, 0, &diagnoseIn{}); len(q) == 0 || q[0].Why != "the next finding, numa_misplacement" {
		t.Errorf("next is %+v", q)
	}
	q := nextOf(r, 1, &diagnoseIn{})
	if len(q) != 1 || q[0].Tool != "run_sql" || !strings.Contains(q[0].Args["sql"].(string), "from thread_cpus where pid = 7") {
		t.Errorf("next is %+v", q)
	}
}
