package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// crowded explains a program whose workers have its CPU, on a machine whose other CPU is busy for some percent.
func crowded(t *testing.T, s store.Scheduling, other float64) *report.Chain {
	t.Helper()
	in := diagnosetest.InputOf(read(t, "testdata/cpu_contention_own_workers.txtar"))
	from := in.Ops[0].First
	s.Thread = event.Thread{PID: 100, TID: 100}
	if s.Changed != 0 {
		s.Changed += from
	}
	in.Scheduling, in.CPUs = []store.Scheduling{s}, 2
	for at := uint64(0); at < 3000*ms; at += 1000 * ms {
		in.Snapshots = append(in.Snapshots,
			store.Snapshot{At: from + at, CPUs: store.NewCPUBusy(map[int]float64{0: other, 1: 100})})
	}
	r := diagnose.Diagnose(in)
	if len(r.Chains) == 0 {
		t.Fatal(r.Verdict)
	}
	return &r.Chains[0]
}

func TestAnAffinityThatLeavesOutFreeCPUsIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		is    store.Scheduling
		other float64
		want  string // at the end of the summary
	}{
		"it changed":       {store.Scheduling{CPUs: "1", Before: "0-1", Changed: 400 * ms}, 3, "; its affinity is CPU 1 since 22:13:20 UTC, before CPU 0-1, while CPU 0 had room"},
		"it was always so": {store.Scheduling{CPUs: "1"}, 3, "; its affinity is CPU 1, while CPU 0 had room"},
		"others are busy":  {store.Scheduling{CPUs: "1"}, 90, "had its CPU"},
		"it has all":       {store.Scheduling{CPUs: "0-1"}, 3, "had its CPU"},
		"it was not asked": {store.Scheduling{}, 3, "had its CPU"},
		"it has more now":  {store.Scheduling{CPUs: "0-1", Before: "1", Changed: 400 * ms}, 3, "had its CPU"},
	} {
		c := crowded(t, tt.is, tt.other)
		if !strings.HasSuffix(c.Summary, tt.want) {
			t.Errorf("%s: %s", name, c.Summary)
		}
		fixed := strings.Contains(strings.Join(c.Recommendations, " "), "let it run on the other CPUs: taskset -acp 0-1 100")
		if fixed != strings.Contains(tt.want, "affinity") {
			t.Errorf("%s: %q", name, c.Recommendations)
		}
	}
}
