package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/store"
)

// A hypervisor steals its share of CPU time from every call. That share of a driver's CPU time is
// not the driver's.
func TestStolenTimeIsNotAttributedToTheDriver(t *testing.T) {
	in := diagnosetest.InputOf(read(t, "testdata/driver_cpu.txtar"))
	alone := diagnose.Diagnose(in).Chains[0]
	in.Snapshots = []store.Snapshot{{At: 1, CPUPct: 50, StealPct: 5}}
	shared := diagnose.Diagnose(in).Chains[0]
	if alone.Cause.Kind != event.CauseDriverCPU || shared.Cause.Kind != event.CauseDriverCPU ||
		shared.ExplainedPct >= alone.ExplainedPct {
		t.Errorf("explained %.1f %% alone, %.1f %% with a tenth of the CPU stolen", alone.ExplainedPct, shared.ExplainedPct)
	}
	in.Snapshots[0].CPUPct, in.Snapshots[0].StealPct = 50, 50
	for i := range in.Ops { // enough work for steal to explain the excess
		in.Ops[i].Calls *= 1000
	}
	for _, c := range diagnose.Diagnose(in).Chains {
		if c.Cause.Kind == event.CauseDriverCPU {
			t.Errorf("with all of the CPU stolen the driver is still blamed, explaining %.1f %%", c.ExplainedPct)
		}
	}
}

// A hypervisor that steals CPU time makes waits for a CPU longer. Then a little contention proves
// nothing.
func TestSmallContentionIsNotBlamedWhileTheHypervisorTakesTheCPUs(t *testing.T) {
	in := diagnosetest.InputOf(read(t, "testdata/cpu_contention_small.txtar"))
	for stolen, want := range map[float64]string{0: "backup-agent", 12: "nothing wrong"} {
		in.Snapshots = []store.Snapshot{{At: 1, CPUPct: 50, StealPct: stolen}}
		r := diagnose.Diagnose(in)
		if !strings.Contains(r.Verdict, want) {
			t.Errorf("with %.0f of 50 %% stolen: %s; want %q", stolen, r.Verdict, want)
		}
		if reportable := len(r.Notes) == 1 &&
			strings.Contains(r.Notes[0], "the hypervisor took 24 %"); reportable != (stolen > 0) {
			t.Errorf("with %.0f of 50 %% stolen the notes are %q", stolen, r.Notes)
		}
	}
}
