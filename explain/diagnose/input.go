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

	Processes   []store.Process
	Threads     []store.ThreadInfo
	Libraries   []store.Library // the files of CUDA and of frameworks that processes use
	Ops         []store.OpStat
	GapStats    []store.GapStat
	Calls       []event.Call       // the notable ones
	Gaps        []event.Gap        // the notable ones
	Spans       [][]event.CallTime // all calls of some short spans, which show the order of calls
	Seldom      [][]event.CallTime // all calls from the first to the last wait of a thread that seldom waits
	OffCPU      []event.OffCPU
	ThreadTimes []event.ThreadTime
	Throttles   []store.Throttle
	Limits      []store.MemoryLimit
	Scheduling  []store.Scheduling
	Nodes       []string // the CPUs of each memory node; empty if there is only one
	Lives       []event.Life
	Stalls      []event.Stall
	Reclaims    []event.Reclaim
	Snapshots   []store.Snapshot
	GPUs        []store.GPUSnapshot
	GPUDevices  []store.GPUDevice  // of a GPU that several sessions saw, the latest last
	GPUMemory   []store.GPUProcess // a row for each change
	Xids        []store.Xid
	RankEvents  []store.RankEvent
	Series      []store.OpSecond
	SeriesStep  uint64             // of Series, in seconds; 0 means 1
	WaitSeries  []store.WaitSecond // with the step of Series
	WaitSites   []store.SiteSecond // with the step of Series
	Busy        []store.Busy       // when processes used GPUs, if more than one did
	BusyUntil   uint64             // Unix ns up to which Busy is complete, 0: to the end
	Memory      []event.Memory
	Sites       []event.MemorySite
	Collectives []event.Collective
	InFlight    []event.InFlight // calls that have lasted a second or more, as last seen
	Before      []store.OpStat   // of the window and of the time before the oldest call in flight; nil means Ops
	Losses      []event.Loss     // of the whole recording
	Dropped     []event.Loss     // of these, what the window lacks
	Pauses      []store.Pause    // when nothing could be written
	Part        bool             // Window is only the longest recorded part, because of Pauses
	IO          store.HostIO     // at block devices and on TCP connections, without single requests
	Kernels     []store.Kernel
	Launches    []store.KernelLaunches // only with LoadLaunches
	Arch        string                 // of the recorded host
	Footprint   *report.Footprint      // of processes whose system calls were counted, nil if there are none
	Stacks      map[uint64]event.Stack // of notable calls and of Sites, as far as known
	Symbols     map[uint64]string      // kernel functions in OffCPU.Kernel, as far as known

	// Legacy is what a recording by an earlier Ingero holds and lacks; nil for a recording in the
	// current format.
	Legacy *store.Legacy

	PerProcess bool // fill in Report.Processes
	Live       bool // the window is the last LiveWindow of a program that runs
}

// tables are the tables that Load reads as a whole, in this order. Those with their own function
// may need what was read before.
var tables = []loader{
	all("processes", store.Reader.Processes, func(in *Input) *[]store.Process { return &in.Processes }),
	all("threads", store.Reader.Threads, func(in *Input) *[]store.ThreadInfo { return &in.Threads }),
	all("library files", store.Reader.Libraries, func(in *Input) *[]store.Library { return &in.Libraries }),
	inWindow("operation statistics", store.Reader.OpStats, func(in *Input) *[]store.OpStat { return &in.Ops }),
	inWindow("gap statistics", store.Reader.GapStats, func(in *Input) *[]store.GapStat { return &in.GapStats }),
	inWindow("throttling", store.Reader.Throttles, func(in *Input) *[]store.Throttle { return &in.Throttles }),
	all("memory limits", store.Reader.MemoryLimits, func(in *Input) *[]store.MemoryLimit { return &in.Limits }),
	all("scheduling policies", store.Reader.Scheduling, func(in *Input) *[]store.Scheduling { return &in.Scheduling }),
	inWindow("process life cycle", store.Reader.Lives, func(in *Input) *[]event.Life { return &in.Lives }),
	inWindow("CPU stalls", store.Reader.Stalls, func(in *Input) *[]event.Stall { return &in.Stalls }),
	inWindow("memory reclaim", store.Reader.Reclaims, func(in *Input) *[]event.Reclaim { return &in.Reclaims }),
	inWindow("machine snapshots", store.Reader.Snapshots, func(in *Input) *[]store.Snapshot { return &in.Snapshots }),
	inWindow("memory", store.Reader.Memory, func(in *Input) *[]event.Memory { return &in.Memory }),
	inWindow("where memory was allocated", store.Reader.MemorySites,
		func(in *Input) *[]event.MemorySite { return &in.Sites }),
	inWindow("collective operations", store.Reader.Collectives,
		func(in *Input) *[]event.Collective { return &in.Collectives }),
	inWindow("calls in flight", store.Reader.InFlight, func(in *Input) *[]event.InFlight { return &in.InFlight }),
	{"operation statistics before calls in flight", (*Input).loadBefore},
	all("names of kernels", store.Reader.Kernels, func(in *Input) *[]store.Kernel { return &in.Kernels }),
	{"what devices and connections did", (*Input).loadIO},
	{"", (*Input).loadFootprint},
	inWindow("GPU snapshots", store.Reader.GPUSnapshots, func(in *Input) *[]store.GPUSnapshot { return &in.GPUs }),
	all("GPUs", store.Reader.GPUDevices, func(in *Input) *[]store.GPUDevice { return &in.GPUDevices }),
	{"GPU memory of processes", (*Input).loadGPUMemory},
	inWindow("errors of GPUs", store.Reader.Xids, func(in *Input) *[]store.Xid { return &in.Xids }),
	inWindow("events of ranks", store.Reader.RankEvents, func(in *Input) *[]store.RankEvent { return &in.RankEvents }),
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
