package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/recording"
	"github.com/ingero-io/ingero/store"
)

// evidence is a recording of one machine, prepared for the causes.
type evidence struct {
	in                *Input
	x                 *ledger.Index
	from, to          uint64
	procs             map[uint32]*store.Process
	names             map[uint32]string            // of processes
	parents           map[uint32]uint32            // of processes
	paths             map[event.File]string        // of files, by process and inode; made by path
	launchers         map[event.Thread]bool        // threads that give work to the GPU
	workers           map[event.Thread]bool        // threads that do, or wait for it
	working           map[uint32]bool              // processes with such threads
	receivers         map[event.Thread]bool        // threads that take in what data workers send
	steps             map[uint32]queuedSteps       // of processes, between long waits for the GPU
	queued            map[uint32][]queuedInterval  // when processes had work queued on the GPU, by time
	early             map[event.Thread]earlyWaits  // waits that came later before, by the thread that waits
	launched          map[uint32]map[uint64]uint64 // launches of processes by second, made by launchesOf
	unseen            map[uint32]unseenWaits       // waits of processes for the GPU that are not known one by one
	delays            map[uint32]uint64            // ns by process that hidden found to cost nothing
	firstOp           map[processOp]uint64         // Unix ns of a process's first call of an op
	firstUse          map[uint32]uint64            // Unix ns of a process's first call
	firstLaunch       map[uint32]uint64            // Unix ns of a process's first launch
	born              map[uint32]bool              // processes whose beginning was seen
	held              map[*event.OffCPU]uint64     // run-queue time that was really throttling
	subjects          []*subject                   // dispatching threads, by id
	all               []*finding                   // made by find
	list              []*finding                   // of them, each root once
	stats             map[threadOp]*store.OpStat   // exact statistics
	medians           map[*store.OpStat]uint64     // of them, made by median, ns
	gapStats          map[event.Thread]gapTotals   // exact statistics
	nested            recording.Nesting
	readCalls         event.SyscallSet // read a file
	receiving         event.SyscallSet // wait for something to come from somebody
	series            map[threadOp][]store.OpSecond
	gpus              map[int][]store.GPUSnapshot // by index, by time
	chosen            map[uint32]int              // GPU of a process by its own number
	missing           float64                     // share of the records that were lost
	stalls            []event.Stall               // of CPUs, by start
	heaps             []*heap                     // what processes have allocated, by process and space
	leaks             []growth                    // of them, the fastest first
	graphs            []*graphUse                 // of processes that use any
	staged            map[threadOp]float64        // operations that copy pageable memory: bytes per ns
	reclaims          map[event.Thread][]*event.Reclaim
	kernels           map[processFunc]string // what launched kernels are called
	resends           map[line][]uint64      // made by resentAt
	collectiveOps     collectiveOps
	joins             joins
	kernelLoads       map[barrier]bool        // launches that load their kernel's code
	remoteThreads     map[uint32]remoteThread // threads of other machines, by the number they have here
	remoteCollectives []event.Collective      // their parts in collective operations
	flights           []inFlightCall          // calls that had not returned, the oldest first
	collectives       []event.Collective      // the input's, with what was found out of them
	unmatched         int                     // of them, that are nobody's
	holds             map[uint32][]int        // GPUs of whose memory a process had some, as the driver tells
	xids              []store.Xid             // by time
	planned           map[*finding]*plan      // made by plans
	sites             map[threadOp]*waitSites
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

// subject is a dispatching thread under examination.
type subject struct {
	event.Thread
	from, to uint64 // Unix ns of its first call's start and last call's end in the window
	episodes []ledger.Episode
	idle     map[string]uint64 // waits that were for work, by what it waited on
	waits    map[*event.OffCPU]root
	// mostlyIdle says for a class whether most of its recorded waits between calls
	// were for work; short ones, which are not recorded, are then taken to be.
	mostlyIdle   [event.NumClasses]bool
	ops          []*store.OpStat     // its outermost operations, by number
	usual        map[event.Op]uint64 // what calls take that their median understates, ns
	unattributed *unattributed       // time that no episode holds
	// usualWork is what waits for work take where most waits find none, ns; waitWork
	// is that of single waits whose work is known, by start.
	usualWork       map[event.Op]uint64
	waitWork        map[uint64]uint64
	siteWork        map[opSite]uint64 // likewise, from one place
	usualCollective map[uint64]uint64 // what waits for collectives usually take, ns, by start
	// later is by how much the work of a wait took longer than usual, ns, by the wait's
	// start; without an entry it is not known.
	later map[uint64]uint64
	// levels are the operations whose waits became longer at once and stayed so.
	levels map[event.Op]gpuLevel
	// recaptures says that the thread makes graphs again and again.
	recaptures bool
	launching  *launching // what it does to launch, if that binds it
	alone      int        // waits for the GPU that no other process's use of it explains

	steps      ledger.Steps
	count      uint64 // of steps, exact; 0 if the calls do not repeat themselves
	lostOnHost uint64 // by all findings that are not the GPU's own time
	lost       uint64 // ns, by all findings and without one
	// lostBetween is the time between calls, by class, that is lost and no rest.
	lostBetween [event.NumClasses + 1]uint64
	churn       map[event.Op]bool // operations whose calls are the cost of allocating again and again
}

func (t *subject) wall() uint64 { return t.to - min(t.from, t.to) }

func newEvidence(in *Input) *evidence {
	ev := &evidence{
		in: in, procs: map[uint32]*store.Process{}, names: map[uint32]string{},
		launchers: map[event.Thread]bool{}, workers: map[event.Thread]bool{}, working: map[uint32]bool{},
		receivers: map[event.Thread]bool{}, queued: map[uint32][]queuedInterval{}, unseen: map[uint32]unseenWaits{},
		launched: map[uint32]map[uint64]uint64{}, early: map[event.Thread]earlyWaits{}, delays: map[uint32]uint64{},
		firstOp: map[processOp]uint64{}, firstUse: map[uint32]uint64{}, firstLaunch: map[uint32]uint64{},
		born: map[uint32]bool{}, parents: map[uint32]uint32{},
		stats: map[threadOp]*store.OpStat{}, medians: map[*store.OpStat]uint64{}, gapStats: map[event.Thread]gapTotals{}, remoteThreads: map[uint32]remoteThread{},
		sites: map[threadOp]*waitSites{},
	}
	for _, pid := range in.tracers() {
		ev.names[pid] = "ingero"
	}
	ev.readNames()
	ev.readCalls, ev.receiving = event.SyscallsNamed(in.Arch, reads), event.SyscallsNamed(in.Arch, reads+" "+receiving)
	ev.from, ev.to = ev.window()
	ev.x = ledger.NewIndex(in.Arch, in.OffCPU, in.ThreadTimes, ev.known(), in.Lives)
	ev.readStats()
	ev.readKernels()
	ev.nested = recording.Nesting{}
	for i := range in.Calls {
		ev.nested.Add(&in.Calls[i])
	}
	ev.readGPUs()
	ev.held = ev.throttledTime()
	ev.missing = missing(in)
	ev.stalls = sorted(in.Stalls)
	ev.readHeaps()
	ev.readStaged()
	ev.reclaims = ledger.ReclaimsByThread(in.Reclaims)
	ev.readReceivers()
	ev.readJoins()
	ev.readQueued()
	ev.readSubjects()
	ev.readKernelLoads()
	ev.readSteps()
	ev.readWork()
	ev.readSites()
	ev.readLevels()
	ev.readEarlyWaits()
	ev.leaks = ev.growths()
	ev.readGraphs()
	ev.readFlights()
	return ev
}

func (ev *evidence) readNames() {
	for _, t := range ev.in.Threads {
		if t.TID == t.PID && t.Comm != "" {
			ev.names[t.PID] = max(ev.names[t.PID], t.Comm)
		}
	}
	for i := range ev.in.Processes {
		p := &ev.in.Processes[i]
		ev.procs[p.PID] = p
		if p.Parent != 0 {
			ev.parents[p.PID] = p.Parent
		}
		if p.Name != "" {
			ev.names[p.PID] = p.Name
		}
	}
	for _, l := range ev.in.Lives {
		if l.Kind == event.LifeFork || l.Kind == event.LifeExec {
			ev.born[l.PID] = true
		}
		if l.Kind == event.LifeFork && l.PID == l.TID && l.PID != l.Parent.PID && ev.parents[l.PID] == 0 {
			ev.parents[l.PID] = l.Parent.PID // it may have ended before /proc was asked
		}
	}
}

// known are the threads that a lock word may name.
func (ev *evidence) known() []ledger.Known {
	var l []ledger.Known
	for _, t := range ev.in.Threads {
		l = append(l, ledger.Known{Thread: t.Thread, Comm: t.Comm})
	}
	for _, o := range ev.in.Ops {
		l = append(l, ledger.Known{Thread: o.Thread})
	}
	return l
}

func (ev *evidence) window() (from, to uint64) {
	from, to = ev.in.Window.From, ev.in.Window.To
	var first, last uint64
	for i := range ev.in.Ops {
		o := &ev.in.Ops[i]
		if first == 0 || o.First < first {
			first = o.First
		}
		last = max(last, o.Last)
	}
	if from == 0 {
		from = first
	}
	if to == 0 {
		to = last
	}
	return from, max(from, to)
}

func (ev *evidence) readStats() {
	for i := range ev.in.Ops {
		o := &ev.in.Ops[i]
		ev.stats[threadOp{o.Thread, o.Op}] = o
		if o.Op.Role() == event.RoleLaunch && o.Calls > 0 {
			ev.launchers[o.Thread] = true
			if v, ok := ev.firstLaunch[o.PID]; !ok || o.First < v {
				ev.firstLaunch[o.PID] = o.First
			}
		}
		if isWork(o.Op.Role()) && o.Calls > 0 {
			ev.workers[o.Thread], ev.working[o.PID] = true, true
		}
		k := processOp{o.PID, o.Op}
		if v, ok := ev.firstOp[k]; !ok || o.First < v {
			ev.firstOp[k] = o.First
		}
		if v, ok := ev.firstUse[o.PID]; !ok || o.First < v {
			ev.firstUse[o.PID] = o.First
		}
	}
	for _, g := range ev.in.GapStats {
		t := ev.gapStats[g.Thread]
		t.gaps += g.Gaps
		t.sumNS += g.SumNS
		t.ledger.Add(&g.Ledger)
		ev.gapStats[g.Thread] = t
	}
}

// readSubjects finds the threads that make calls and what each waited for.
func (ev *evidence) readSubjects() {
	by := map[event.Thread]*subject{}
	for i := range ev.in.Ops {
		o := &ev.in.Ops[i]
		if o.Calls == 0 || o.Last < o.First {
			continue
		}
		t := by[o.Thread]
		if t == nil {
			t = &subject{Thread: o.Thread, from: o.First, to: o.Last, idle: map[string]uint64{}, waits: map[*event.OffCPU]root{}}
			by[o.Thread] = t
		}
		t.from, t.to = min(t.from, o.First), max(t.to, o.Last)
	}
	episodes := ledger.Episodes(ev.in.Calls, ev.in.Gaps, ev.in.OffCPU)
	for _, t := range by {
		t.from, t.to = max(t.from, ev.from), min(t.to, ev.to)
		t.episodes = slices.DeleteFunc(ledger.PlaceReclaims(episodes[t.Thread], ev.reclaims[t.Thread]), func(e ledger.Episode) bool {
			return e.Start < t.from || e.Start >= t.to || e.Call == nil && !ev.handsOver(t.Thread)
		})
		ev.readWaits(t)
		t.ops = ev.nested.Outermost(ev.in.Ops, t.Thread)
		t.churn = ev.churning(t)
		ev.subjects = append(ev.subjects, t)
	}
	slices.SortFunc(ev.subjects, func(a, b *subject) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
}

// readWaits follows every wait of a thread to its root.
func (ev *evidence) readWaits(t *subject) {
	var rest, all [event.NumClasses]uint64
	got := map[uint32]uint64{} // by process: the end of the last wait for it, Unix ns
	for i := range t.episodes {
		e := &t.episodes[i]
		for i, o := range e.Rows {
			if !ledger.Followable(o.Class) {
				continue
			}
			r := ev.root(renewed(e.Rows, i), e.Call == nil)
			from := r.last().Thread.PID
			ev.delayed(&r, got[from])
			got[from] = o.Start + o.Duration
			t.waits[o] = r
			if e.Call == nil {
				all[o.Class] += o.Duration
				if r.kind == idleKind {
					rest[o.Class] += o.Duration
				}
			}
		}
	}
	ev.settle(t)
	for c := range event.NumClasses {
		t.mostlyIdle[c] = rest[c] > 0 && rest[c] >= all[c]/2
	}
}

// renewGap is how soon a wait that timed out is taken up again.
const renewGap = 1_000_000

// renewed is the i-th of an episode's waits, with the waker of a later one if it
// ended by time-out and the thread at once waited for the same futex again, as
// CPython does for its interpreter lock every 5 ms.
func renewed(rows []*event.OffCPU, i int) *event.OffCPU {
	o := rows[i]
	if o.Class != event.Futex || o.Futex == 0 || o.WakerFutex != 0 {
		return o
	}
	last := o
	for _, n := range rows[i+1:] {
		if !ledger.Renews(n, o) || n.Start > last.Start+last.Duration+renewGap {
			return o
		}
		if n.WakerFutex == n.Futex {
			c := *o
			c.Waker, c.WakerComm, c.WakerFutex, c.WakerSyscall = n.Waker, n.WakerComm, n.WakerFutex, n.WakerSyscall
			return &c
		}
		last = n
	}
	return o
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
