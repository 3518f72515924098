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

func perProcess(t *testing.T, name string, change func(*diagnose.Input)) (report.Process, *report.Report) {
	t.Helper()
	in := diagnosetest.InputOf(read(t, "testdata/"+name+".txtar"))
	in.PerProcess = true
	if change != nil {
		change(in)
	}
	r := diagnose.Diagnose(in)
	if len(r.Processes) != 1 {
		t.Fatalf("%d processes", len(r.Processes))
	}
	return r.Processes[0], r
}

func warned(p report.Process, words string) bool {
	return strings.Contains(strings.Join(p.Warnings, "\n"), words)
}

func TestProcessesReportTheirMemory(t *testing.T) {
	p, _ := perProcess(t, "memory_leak", nil)
	m := p.Memory
	if m == nil || m.Allocs != 2220 || m.Frees != 2000 || m.LiveCount != 220 || m.LiveBytes != 20*50e6+200*2e6 ||
		m.Bytes != m.LiveBytes+2000*1e6 {
		t.Errorf("memory %+v", m)
	}
	if !warned(p, "memory leak: device memory grows by") ||
		!warned(p, "malloc/free imbalance: 220 allocations without corresponding cudaFree") {
		t.Errorf("warnings %q", p.Warnings)
	}
	p, _ = perProcess(t, "alloc_churn_fragmented", nil)
	if !warned(p, "memory fragmentation: the more allocations were live, the longer one took") {
		t.Errorf("warnings %q", p.Warnings)
	}
	p, _ = perProcess(t, "healthy", nil)
	if p.Memory != nil || len(p.Warnings) != 0 {
		t.Errorf("a process that allocates nothing: %+v %q", p.Memory, p.Warnings)
	}
}

func TestALeakNamesTheCodeItIsFrom(t *testing.T) {
	_, r := perProcess(t, "memory_leak", func(in *diagnose.Input) {
		in.Stacks = map[uint64]event.Stack{0x11: {ID: 0x11, Frames: []event.Frame{
			{Kind: event.FrameNative, Symbol: "at::empty", Module: "libtorch.so"},
			{Kind: event.FramePython, Symbol: "append_loss", File: "train.py", Line: 74},
		}}}
	})
	c := r.Chains[0]
	if !strings.Contains(c.Cause.Detail, "100 % of the growth is cudaMalloc called by train.py:74 in append_loss") ||
		len(c.Stack) != 2 {
		t.Errorf("detail %q, stack %q", c.Cause.Detail, c.Stack)
	}
}

func TestALeakSaysWhenMemoryRunsOut(t *testing.T) {
	_, r := perProcess(t, "memory_leak_pinned", func(in *diagnose.Input) { in.RAM = 315e6 })
	if c := r.Chains[0]; c.Severity != "MEDIUM" ||
		!strings.Contains(c.Cause.Detail, "all 315 MB of the machine are used up in 10 minutes") {
		t.Errorf("%s: %s", c.Severity, c.Cause.Detail)
	}
}

// If records of frees were dropped, growth is not certain.
func TestNoLeakIsReportedIfFreesMayBeDropped(t *testing.T) {
	_, r := perProcess(t, "memory_leak", func(in *diagnose.Input) {
		in.Dropped = []event.Loss{{Kind: event.LostCall, Count: 5000}}
	})
	if len(r.Chains) != 0 {
		t.Errorf("reported: %s", r.Chains[0].Summary)
	}
}

func TestFailedAllocationsBelowThePeakAreWarnedOf(t *testing.T) {
	p, _ := perProcess(t, "alloc_churn", func(in *diagnose.Input) {
		in.Memory = []event.Memory{{At: in.Memory[0].At, PID: 100, LiveBytes: 6e9, PeakBytes: 10e9, Failed: 2}}
	})
	if !warned(p, "2 allocations failed with 6 GB live, below the peak of 10 GB") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

// If the GPU was read, the warning says who had its memory.
func TestFailedAllocationsNameTheProcessWithTheMemory(t *testing.T) {
	p, _ := perProcess(t, "alloc_churn", func(in *diagnose.Input) {
		at := in.Memory[0].At
		in.Memory = []event.Memory{{At: at, PID: 100, LiveBytes: 6e9, PeakBytes: 10e9, Failed: 2}}
		in.Processes = append(in.Processes, store.Process{PID: 300, Name: "indexer"})
		in.GPUs = []store.GPUSnapshot{
			{At: at - 1e9, GPU: 1, MemMB: 1, TotalMB: 81559},
			{At: at - 1e9, MemMB: 80_000, TotalMB: 81559},
		}
		in.GPUMemory = []store.GPUProcess{
			{At: at - 9e9, PID: 100, Bytes: 90e9, Known: true},
			{At: at - 9e9, PID: 300, Bytes: 1e9, Known: true},
			{At: at - 5e9, PID: 300, Bytes: 70e9, Known: true},
			{At: at - 5e9, PID: 400, Bytes: 5e9, Known: true},
			{At: at + 1e9, PID: 300, Known: true},
			{At: at - 5e9, GPU: 1, PID: 500, Bytes: 75e9, Known: true},
		}
	})
	if !warned(p,
		"or another process has taken it; GPU 0 had 83.9 GB of 85.5 GB in use, 70 GB of it by indexer (pid 300)") {
		t.Errorf("warnings %q", p.Warnings)
	}
}
