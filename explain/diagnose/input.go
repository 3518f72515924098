// Package diagnose finds out why a GPU waited: it takes a recording and returns the causes of lost
// time, each with the share that it explains and the chain from effect to root. It is pure: the
// same input gives the same report. Accounting of time is in package ledger, rendering in package
// report.
//
// A cause is one file with a value of type cause: its claim, which takes the time that the cause
// explains out of an episode's account; its description of the finding; and everything else that is
// special about it. For time that is always lost there is an aggregate claim, which takes from
// exact sums what no episode holds. What makes a GPU slow refines the claims of waits for the GPU.
// causes.go lists the causes in the order in which they are asked. prepare.go lists the steps that
// prepare an input, each with what it needs and gives.
package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Input is what a diagnosis reads. No slice needs to be in any order.
type Input struct {
	DB, Node string
	Window   store.Window // zero bounds are filled in from the data
	Note     string       // how the window was chosen, if not as asked for
	Events   uint64       // calls in the window, thinned ones included; 0 means the sum of Ops
	First    uint64       // Unix ns of the recording's earliest event, 0 if unknown
	CPUs     int          // of the recorded host, 0 if unknown
	RAM      uint64       // of the recorded host, bytes; 0 if unknown
	SelfPID  uint32       // the tracer, which is never a culprit; 0 if unknown
	Tracers  []uint32     // other tracers that ran at the same time; never culprits either

	// Tables are the rows of the window. Calls and Gaps are only the notable ones.
	store.Tables

	Ops        []store.OpStat
	GapStats   []store.GapStat
	Spans      [][]event.CallTime // all calls of some short spans, which show the order of calls
	Seldom     [][]event.CallTime // all calls from the first to the last wait of a thread that seldom waits
	Nodes      []string           // the CPUs of each memory node; empty if there is only one
	Series     []store.OpSecond
	SeriesStep uint64                   // of Series, in seconds; 0 means 1
	WaitSeries []store.WaitSecond       // with the step of Series
	WaitSites  []store.SiteSecond       // with the step of Series
	Busy       []store.Busy             // when processes used GPUs, if more than one did
	BusyUntil  uint64                   // Unix ns up to which Busy is complete, 0: to the end
	Before     []store.OpStat           // of the window and of the time before the oldest call in flight; nil means Ops
	Dropped    []event.Loss             // of Losses, what the window lacks
	Pauses     []store.Pause            // when nothing could be written
	Part       bool                     // Window is only the longest recorded part, because of Pauses
	Launches   []store.KernelLaunches   // only with LoadLaunches
	Arch       string                   // of the recorded host
	Footprint  *report.Footprint        // of processes whose system calls were counted, nil if there are none
	Stacks     map[uint64]event.Stack   // of notable calls and of MemorySites, as far as known
	CodeStacks map[uint64][]event.Frame // of code samples, as far as known
	Symbols    map[uint64]string        // kernel functions in OffCPU.Kernel, as far as known

	// Legacy is what a recording by an earlier Ingero holds and lacks; nil for a recording in the
	// current format.
	Legacy *store.Legacy
	// between are the times in it in which threads were off the CPU between calls.
	between []interval

	PerProcess bool // fill in Report.Processes
	Live       bool // the window is the last LiveWindow of a program that runs
}

// derived are the parts of an input that need more than the rows of its window, in this order: they may need what was
// read before.
var derived = []loader{
	{"operation statistics before calls in flight", (*Input).loadBefore},
	{"", (*Input).loadFootprint},
	{"GPU memory of processes", (*Input).loadGPUMemory},
	{"operation series", (*Input).loadSeries},
	{"waits by second", (*Input).loadWaitSeries},
	{"waits by call site", (*Input).loadWaitSites},
	{"GPU use", (*Input).loadBusy},
}

// tracers returns the PIDs of all tracers.
func (in *Input) tracers() []uint32 {
	list := slices.Clone(in.Tracers)
	if in.SelfPID != 0 {
		list = append(list, in.SelfPID)
	}
	return list
}

// isTracer reports whether a process is one.
func (in *Input) isTracer(pid uint32) bool { return slices.Contains(in.tracers(), pid) }

// Only keeps only the calls of the given processes, so that only these are explained; all if there
// are none. What other processes did on the host stays: they may be the cause.
func (in *Input) Only(pids []uint32) {
	if len(pids) == 0 {
		return
	}
	named := func(pid uint32) bool {
		return slices.Contains(pids, pid) || slices.Contains(pids, event.KernelID(pid))
	}
	in.Ops = slices.DeleteFunc(in.Ops, func(o store.OpStat) bool { return !named(o.PID) })
	in.Calls = slices.DeleteFunc(in.Calls, func(c event.Call) bool { return !named(c.PID) })
	in.GapStats = slices.DeleteFunc(in.GapStats, func(g store.GapStat) bool { return !named(g.PID) })
	in.Gaps = slices.DeleteFunc(in.Gaps, func(g event.Gap) bool { return !named(g.PID) })
}
