package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// The parts of evidence. Each has the fields for its queries, and its methods use no other part. A
// query that needs two parts is a method of evidence, or of a cause.

// processes are the recorded processes and their threads, and how threads spent their time.
type processes struct {
	in        *Input
	x         *ledger.Index
	byPID     map[uint32]*store.Process
	names     map[uint32]string
	parents   map[uint32]uint32
	born      map[uint32]uint64           // Unix ns, of processes whose start was recorded
	exited    map[uint32]uint64           // the same for their end
	woke      map[pair]int                // computed on first use: worksFor
	launchers map[event.Thread]bool       // threads that launch GPU work
	workers   map[event.Thread]bool       // threads that launch GPU work or wait for it
	working   map[uint32]bool             // processes with such threads
	receivers map[event.Thread]bool       // threads that receive from data workers
	hostFuncs map[uint32]uint64           // functions that processes queued for the driver to call on the host
	futexes   map[event.Thread]futexWaits // computed on first use: waitsOn
}

// callStats are the statistics of calls, exact unless said otherwise, and what calls usually take.
type callStats struct {
	in          *Input
	stats       map[threadOp]*store.OpStat
	gapStats    map[event.Thread]gapTotals
	series      map[threadOp][]store.OpSecond
	firstOp     map[processOp]uint64 // Unix ns of a process's first call of an op
	firstUse    map[uint32]uint64    // Unix ns of a process's first call
	firstLaunch map[uint32]uint64    // Unix ns of a process's first launch
	nested      recording.Nesting
	kernels     map[processFunc]string         // names of launched kernels
	kernelLoads map[callStart]bool             // launches that load their kernel's code
	staged      map[threadOp]float64           // operations that copy pageable memory: bytes per ns
	sites       map[threadOp]*waitSites        // waits by call site
	medians     map[*store.OpStat]uint64       // ns, computed on first use: median
	byThread    map[event.Thread][]*event.Call // the stored outermost calls, by start; computed on first use: callsOf
}

// hostState is what the machine and its kernel did: CPUs, quotas, memory, disks, the network.
type hostState struct {
	in        *Input
	held      map[*event.OffCPU]uint64 // run-queue time that was really throttling, ns
	reclaims  map[event.Thread][]*event.Reclaim
	stalls    []event.Stall    // of CPUs, by start
	readCalls event.SyscallSet // system calls that read a file
	receiving event.SyscallSet // system calls that wait to receive
	sending   event.SyscallSet // those that wait for room
	children  event.SyscallSet // those that wait for a child to end
	signals   event.SyscallSet // those that send a signal
	exits     event.SyscallSet // those by which a thread ends
	accepting event.SyscallSet // those that accept connections
	// addressSpace are those that change what a process has mapped: they wait for its lock (mmap_lock), which other
	// processes take to read what is mapped.
	addressSpace event.SyscallSet
	paths        map[event.File]string // of files, by process and inode, computed on first use: path
	resends      map[line][]uint64     // Unix ns, computed on first use: resentAt
	// received are waits to receive on connections within this machine, by end; computed on first use: receivesAt.
	received map[line][]*event.OffCPU
}

// gpuReadings are the driver's readings of GPUs, one each second.
type gpuReadings struct {
	in      *Input
	byIndex map[int][]store.GPUSnapshot // by time
	chosen  map[uint32]int              // the GPU a process uses, as the process numbers them
	holds   map[uint32][]int            // GPUs on which a process had memory
	xids    []store.Xid                 // by time
}

// gpuQueue is when processes had work queued on the GPU, as derived from their waits for it.
type gpuQueue struct {
	in     *Input
	steps  map[uint32]queuedSteps      // of processes, between long waits for the GPU
	queued map[uint32][]queuedInterval // by time
	unseen map[uint32]unseenWaits      // waits for the GPU that were not recorded one by one, by process
	delays map[uint32]uint64           // ns of delays that cost nothing, by process: hidden
}

// allocations are the memory that processes have allocated and not freed.
type allocations struct {
	in    *Input
	list  []*heap  // by process and space
	leaks []growth // memory that grows, the fastest first
}

// rankWork is what ranks did together, on this machine and on others: linkMachines.
type rankWork struct {
	collectives       []event.Collective      // the input's, with what was found out about them
	unmatched         int                     // collectives that could not be assigned
	remoteThreads     map[uint32]remoteThread // threads of other machines, by the id they are given here
	remoteCollectives []event.Collective      // the parts of other machines' ranks in collective operations
	collectiveOps     cluster.Operations
}
