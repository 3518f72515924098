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

// misplaced diagnoses a case that is changed before, and returns the finding, nil if it is not there.
func misplaced(t *testing.T, name string, change func(*diagnose.Input)) (*report.Chain, *report.Report) {
	t.Helper()
	in := diagnosetest.InputOf(read(t, "testdata/"+name+".txtar"))
	change(in)
	r := diagnose.Diagnose(in)
	for i := range r.Chains {
		if r.Chains[i].Cause.Kind == event.CauseNUMAMisplacement {
			return &r.Chains[i], r
		}
	}
	return nil, r
}

func TestWrongNodeIsReportedOnlyIfAllNodesAreKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*diagnose.Input)
		reported bool
	}{
		"as it is":                      {func(*diagnose.Input) {}, true},
		"one node has all CPUs":         {func(in *diagnose.Input) { in.Nodes = []string{"0-3", ""} }, false},
		"the GPU's node has no CPUs":    {func(in *diagnose.Input) { in.Nodes = []string{"0-1", "", "2-3"} }, false},
		"the GPU's node is not listed":  {func(in *diagnose.Input) { in.GPUDevices[0].Node = 2 }, false},
		"its CPUs are in no known node": {func(in *diagnose.Input) { in.Nodes = []string{"4-7", "2-3"} }, false},
		"its GPU is not in the list":    {func(in *diagnose.Input) { in.GPUDevices = in.GPUDevices[1:] }, false},
		"no GPU is known":               {func(in *diagnose.Input) { in.GPUDevices, in.GPUMemory = nil, nil }, false},
		"a later session says otherwise": {func(in *diagnose.Input) {
			in.GPUDevices = append(in.GPUDevices, store.GPUDevice{GPU: 0, Node: 0})
		}, false},
	} {
		if got, r := misplaced(t, "numa_misplacement", c.change); (got != nil) != c.reported {
			t.Errorf("%s: reported %t\n%s", name, got != nil, checkedText(r))
		}
	}
}

// A fix moves nobody to CPUs that have no room.
func TestFixForAWrongNodeNeedsIdleCPUsThere(t *testing.T) {
	t.Parallel()
	for busy, want := range map[[2]float64]string{
		{10, 97}: "taskset -cp 2 100",
		{99, 97}: "first make room on node 1, for 1 thread: of its CPUs (2-3), 0 of 2 have room",
	} {
		c, _ := misplaced(t, "numa_misplacement", func(in *diagnose.Input) {
			in.Snapshots = []store.Snapshot{{
				At: in.Ops[0].First + 1e6, CPUs: store.NewCPUBusy(map[int]float64{0: 10, 1: 10, 2: busy[0], 3: busy[1]}),
			}}
		})
		if c == nil || !strings.Contains(strings.Join(c.Recommendations, "\n"), want) {
			t.Errorf("%v: %+v", busy, c)
		}
	}
}

// Time that is lost to an unknown cause is the verdict, and not what loses no time.
func TestLostTimeComesBeforeAWrongNodeInTheVerdict(t *testing.T) {
	t.Parallel()
	c, r := misplaced(t, "unknown", func(in *diagnose.Input) {
		from := diagnosetest.InputOf(read(t, "testdata/numa_misplacement.txtar"))
		in.Nodes, in.GPUDevices = from.Nodes, from.GPUDevices[:1]
		for i := range in.OffCPU {
			in.OffCPU[i].InCPU = 0
		}
		for _, o := range from.OffCPU {
			o.Thread, o.Start = in.Ops[0].Thread, o.Start-from.Ops[0].First+in.Ops[0].First
			in.OffCPU = append(in.OffCPU, o)
		}
	})
	if c == nil || len(r.NotExplained) == 0 || !strings.HasPrefix(r.Verdict, "not enough evidence") {
		t.Errorf("%s", checkedText(r))
	}
}

// Threads that all launch from the wrong node are moved together.
func TestThreadsOnAWrongNodeAreOneFinding(t *testing.T) {
	t.Parallel()
	c, r := misplaced(t, "numa_misplacement_all_gpus", func(in *diagnose.Input) {
		in.Nodes = []string{"0-1", "2-5"}
	})
	const want = "for t in 100 101; do taskset -cp 3-5 $t; done"
	if c == nil || len(r.Chains) != 1 || !strings.Contains(strings.Join(c.Recommendations, "\n"), want) {
		t.Errorf("%s", checkedText(r))
	}
}
