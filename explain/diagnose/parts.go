package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// The parts of evidence. Each has the fields that it is asked by, and its methods use no other part: a
// question that needs two is a method of evidence, or of a cause.

// processes are those that were there, with their threads, and what a thread's time went to.
type processes struct {
	in        *Input
	x         *ledger.Index
	byPID     map[uint32]*store.Process
	names     map[uint32]string
	parents   map[uint32]uint32
	born      map[uint32]bool       // processes whose beginning was seen
	launchers map[event.Thread]bool // threads that give work to the GPU
	workers   map[event.Thread]bool // threads that do, or wait for it
	working   map[uint32]bool       // processes with such threads
	receivers map[event.Thread]bool // threads that take in what data workers send
}

// callStats are the statistics of calls, exact unless said otherwise, and what is usual of them.
type callStats struct {
	in          *Input
	stats       map[threadOp]*store.OpStat
	gapStats    map[event.Thread]gapTotals
	series      map[threadOp][]store.OpSecond
	firstOp     map[processOp]uint64 // Unix ns of a process's first call of an op
	firstUse    map[uint32]uint64    // Unix ns of a process's first call
	firstLaunch map[uint32]uint64    // Unix ns of a process's first launch
	nested      recording.Nesting
	kernels     map[processFunc]string   // what launched kernels are called
	kernelLoads map[callStart]bool       // launches that load their kernel's code
	staged      map[threadOp]float64     // operations that copy pageable memory: bytes per ns
	sites       map[threadOp]*waitSites  // waits by the place that they are made from
	medians     map[*store.OpStat]uint64 // ns, made when first asked for: median
}

// hostState is what the machine and its kernel did: CPUs, quotas, memory, disks, the network.
type hostState struct {
	in        *Input
	held      map[*event.OffCPU]uint64 // run-queue time that was really throttling, ns
	reclaims  map[event.Thread][]*event.Reclaim
	stalls    []event.Stall         // of CPUs, by start
	readCalls event.SyscallSet      // read a file
	receiving event.SyscallSet      // wait for something to come from somebody
	paths     map[event.File]string // of files, by process and inode, made when first asked for: path
	resends   map[line][]uint64     // Unix ns, made when first asked for: resentAt
}

// gpuReadings are what the driver told of GPUs once a second.
type gpuReadings struct {
	in      *Input
	byIndex map[int][]store.GPUSnapshot // by time
	chosen  map[uint32]int              // GPU of a process by its own number
	holds   map[uint32][]int            // GPUs of whose memory a process had some
	xids    []store.Xid                 // by time
}

// gpuQueue is when processes had work queued on the GPU, as their waits for it tell.
type gpuQueue struct {
	in     *Input
	steps  map[uint32]queuedSteps      // of processes, between long waits for the GPU
	queued map[uint32][]queuedInterval // by time
	unseen map[uint32]unseenWaits      // waits of processes for the GPU that are not known one by one
	delays map[uint32]uint64           // ns by process that cost nothing: hidden
}

// allocations are what processes have allocated and not freed.
type allocations struct {
	in    *Input
	list  []*heap  // by process and space
	leaks []growth // memory that grows, the fastest first
}

// rankWork is what ranks did together, on this machine and on others: linkMachines.
type rankWork struct {
	collectives       []event.Collective      // the input's, with what was found out of them
	unmatched         int                     // of them, that are nobody's
	remoteThreads     map[uint32]remoteThread // threads of other machines, by the number they have here
	remoteCollectives []event.Collective      // their parts in collective operations
	collectiveOps     cluster.Operations
}
