package diagnose

import (
	"cmp"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// evidence is a recording of one machine, prepared for the causes (prepare.go). It stays as it is once it
// is prepared, but for what is made when it is first asked for, and for what is found.
type evidence struct {
	in *Input

	// Who there was.
	procs     map[uint32]*store.Process
	names     map[uint32]string     // of processes
	parents   map[uint32]uint32     // of processes
	born      map[uint32]bool       // processes whose beginning was seen
	launchers map[event.Thread]bool // threads that give work to the GPU
	workers   map[event.Thread]bool // threads that do, or wait for it
	working   map[uint32]bool       // processes with such threads
	receivers map[event.Thread]bool // threads that take in what data workers send
	subjects  []*subject            // dispatching threads, by id
	joins     joins

	// What was recorded, by what it is looked up.
	x           *ledger.Index
	from, to    uint64
	readCalls   event.SyscallSet           // read a file
	receiving   event.SyscallSet           // wait for something to come from somebody
	stats       map[threadOp]*store.OpStat // exact statistics
	gapStats    map[event.Thread]gapTotals // exact statistics
	series      map[threadOp][]store.OpSecond
	firstOp     map[processOp]uint64 // Unix ns of a process's first call of an op
	firstUse    map[uint32]uint64    // Unix ns of a process's first call
	firstLaunch map[uint32]uint64    // Unix ns of a process's first launch
	nested      recording.Nesting
	kernels     map[processFunc]string      // what launched kernels are called
	gpus        map[int][]store.GPUSnapshot // by index, by time
	chosen      map[uint32]int              // GPU of a process by its own number
	holds       map[uint32][]int            // GPUs of whose memory a process had some, as the driver tells
	xids        []store.Xid                 // by time
	reclaims    map[event.Thread][]*event.Reclaim
	stalls      []event.Stall // of CPUs, by start
	heaps       []*heap       // what processes have allocated, by process and space
	missing     float64       // share of the records that were lost

	// What follows from it.
	held        map[*event.OffCPU]uint64    // run-queue time that was really throttling
	staged      map[threadOp]float64        // operations that copy pageable memory: bytes per ns
	kernelLoads map[callStart]bool          // launches that load their kernel's code
	steps       map[uint32]queuedSteps      // of processes, between long waits for the GPU
	queued      map[uint32][]queuedInterval // when processes had work queued on the GPU, by time
	unseen      map[uint32]unseenWaits      // waits of processes for the GPU that are not known one by one
	early       map[event.Thread]earlyWaits // waits that came later before, by the thread that waits
	sites       map[threadOp]*waitSites
	graphs      []*graphUse    // of processes that use any
	leaks       []growth       // memory that grows, the fastest first
	flights     []inFlightCall // calls that had not returned, the oldest first

	// Ranks, of this machine and of others: linkMachines.
	collectives       []event.Collective      // the input's, with what was found out of them
	unmatched         int                     // of them, that are nobody's
	remoteThreads     map[uint32]remoteThread // threads of other machines, by the number they have here
	remoteCollectives []event.Collective      // their parts in collective operations
	collectiveOps     cluster.Operations

	// Made when it is first asked for.
	paths    map[event.File]string        // of files, by process and inode: path
	launched map[uint32]map[uint64]uint64 // launches of processes by second: launchesOf
	medians  map[*store.OpStat]uint64     // of exact statistics, ns: median
	resends  map[line][]uint64            // Unix ns: resentAt
	planned  map[*finding]*plan           // plans

	// What is found: find.
	delays map[uint32]uint64 // ns by process that cost nothing: hidden
	all    []*finding
	list   []*finding // of them, each root once
}

// callStart is a call, by its start, Unix ns.
type callStart struct {
	event.Thread
	start uint64
}

type processOp struct {
	pid uint32
	op  event.Op
}

type threadOp struct {
	event.Thread
	op event.Op
}

type gapTotals struct {
	gaps   uint64
	sumNS  uint64
	ledger event.Ledger
}

// name is a process's name, or the given task name, or its number.
func (ev *evidence) name(pid uint32, comm string) string {
	_, main, _ := ev.x.Thread(pid)
	return printable(cmp.Or(ev.names[pid], main, comm, "pid "+itoa(pid)))
}

// comm is a thread's own name, empty if unknown.
func (ev *evidence) comm(t event.Thread) string {
	_, c, _ := ev.x.Thread(t.TID)
	return printable(c)
}

// missing estimates the share of the records that were lost, from the losses
// that leave holes.
func missing(in *Input) float64 {
	var lost uint64
	for _, l := range in.Losses {
		if l.Kind.Counts() {
			lost += l.Count
		}
	}
	if lost == 0 {
		return 0
	}
	return float64(lost) / (float64(lost) + float64(events(in)))
}

// outermostCalls is how many calls the window holds that are within no other one.
func (ev *evidence) outermostCalls() (n uint64) {
	if ev.in.Events != 0 {
		return ev.in.Events
	}
	for _, o := range ev.nested.OfAll(ev.in.Ops) {
		n += o.Calls
	}
	return n
}

// events is how many calls the window holds, those within others included.
func events(in *Input) uint64 {
	if in.Events != 0 {
		return in.Events
	}
	var n uint64
	for i := range in.Ops {
		n += in.Ops[i].Calls
	}
	return n
}
