package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// preparation is one step of making evidence of an input.
type preparation struct {
	run   func(*evidence)
	needs string // fields of evidence that earlier steps gave; all steps read the input, too
	gives string // fields of evidence that it fills in
}

// preparations are the steps, in their order. A test checks needs and gives against the code.
var preparations = []preparation{
	{(*evidence).readNames, "", "procs.byPID procs.names procs.parents procs.born procs.exited"},
	{
		(*evidence).readSyscalls, "",
		"host.readCalls host.receiving host.sending host.children host.signals host.exits host.accepting host.addressSpace",
	},
	{(*evidence).readWindow, "host.sending", "from to"},
	{(*evidence).readIndex, "", "procs.x"},
	{
		(*evidence).readStats, "",
		"calls.stats calls.gapStats calls.firstOp calls.firstUse calls.firstLaunch " +
			"procs.launchers procs.workers procs.working procs.hostFuncs",
	},
	{(*evidence).readKernels, "", "calls.kernels"},
	{(*evidence).readNesting, "", "calls.nested"},
	{(*evidence).readGPUs, "", "calls.series gpus.byIndex gpus.chosen gpus.holds gpus.xids"},
	{(*evidence).readThrottling, "procs.byPID", "host.held"},
	{(*evidence).readMissing, "", "missing"},
	{(*evidence).readStalls, "", "host.stalls"},
	{(*evidence).readHeaps, "", "heaps.list"},
	{(*evidence).readStaged, "calls.stats", "calls.staged"},
	{(*evidence).readReclaims, "", "host.reclaims"},
	{(*evidence).readReceivers, "procs.parents procs.launchers host.receiving", "procs.receivers"},
	{(*evidence).readJoins, "", "joins"},
	{(*evidence).readQueued, "calls.series", "queue.steps queue.queued queue.unseen"},

	// Threads and their waits, each with its root.
	{
		(*evidence).readSubjects,
		"procs.parents procs.born procs.exited procs.launchers procs.workers procs.working procs.hostFuncs " +
			"procs.receivers procs.x from to " +
			"calls.nested host.receiving host.sending host.reclaims host.held",
		"subjects",
	},

	// What is usual for them; these steps fill in the subjects.
	{(*evidence).readKernelLoads, "calls.series subjects", "calls.kernelLoads"},
	{(*evidence).readSteps, "calls.stats subjects", ""},
	{(*evidence).readWork, "calls.stats calls.series subjects", ""},
	{(*evidence).readSites, "calls.series subjects", "calls.sites"},
	{(*evidence).readQueues, "calls.series gpus.byIndex gpus.chosen gpus.holds subjects", ""},
	{(*evidence).readLevels, "calls.series calls.sites subjects", ""},
	{(*evidence).readVariable, "calls.series calls.sites subjects", ""},
	{(*evidence).readEarlyWaits, "calls.stats calls.series queue.steps subjects", "early"},

	// What loses no thread's time, or has not ended.
	{(*evidence).readLeaks, "missing heaps.list", "heaps.leaks"},
	{(*evidence).readGraphs, "calls.series subjects", "graphs"},
	{(*evidence).readInFlight, "", "inFlightCalls"},
}

// newEvidence prepares an input. linkMachines adds what ranks of several machines did together.
func newEvidence(in *Input) *evidence {
	ev := &evidence{in: in, launched: map[uint32]map[uint64]uint64{}}
	ev.procs.in, ev.calls.in, ev.host.in, ev.gpus.in, ev.queue.in, ev.heaps.in = in, in, in, in, in, in
	ev.calls.medians, ev.queue.delays = map[*store.OpStat]uint64{}, map[uint32]uint64{}
	ev.ranks.remoteThreads = map[uint32]remoteThread{}
	for _, p := range preparations {
		p.run(ev)
	}
	return ev
}

func (ev *evidence) readSyscalls() {
	ev.host.readCalls = event.SyscallsNamed(ev.in.Arch, reads)
	ev.host.receiving = event.SyscallsNamed(ev.in.Arch, reads+" "+receiving)
	ev.host.addressSpace = event.SyscallsNamed(ev.in.Arch, "mmap munmap mremap mprotect brk")
	ev.host.sending = event.SyscallsNamed(ev.in.Arch, sending)
	ev.host.children = event.SyscallsNamed(ev.in.Arch, children)
	ev.host.signals = event.SyscallsNamed(ev.in.Arch, signals)
	ev.host.exits = event.SyscallsNamed(ev.in.Arch, exits)
	ev.host.accepting = event.SyscallsNamed(ev.in.Arch, accepting)
}

func (ev *evidence) readWindow() { ev.from, ev.to = ev.window() }

func (ev *evidence) readIndex() {
	ev.procs.x = ledger.NewIndex(ev.in.Arch, ev.in.OffCPU, ev.in.ThreadTimes, ev.known(), ev.in.Lives)
}

func (ev *evidence) readNesting() {
	ev.calls.nested = recording.Nesting{}
	for i := range ev.in.Calls {
		ev.calls.nested.Add(&ev.in.Calls[i])
	}
}

func (ev *evidence) readThrottling() { ev.host.held = ev.throttledTime() }
func (ev *evidence) readMissing()    { ev.missing = missing(ev.in) }
func (ev *evidence) readStalls()     { ev.host.stalls = sorted(ev.in.Stalls) }
func (ev *evidence) readReclaims()   { ev.host.reclaims = ledger.ReclaimsByThread(ev.in.Reclaims) }
func (ev *evidence) readLeaks()      { ev.heaps.leaks = ev.growths() }

func (ev *evidence) readNames() {
	ev.procs.byPID, ev.procs.names = map[uint32]*store.Process{}, map[uint32]string{}
	ev.procs.exited = map[uint32]uint64{}
	ev.procs.parents, ev.procs.born = map[uint32]uint32{}, map[uint32]uint64{}
	for _, pid := range ev.in.tracers() {
		ev.procs.names[pid] = "ingero"
	}
	for _, t := range ev.in.Threads {
		if t.TID == t.PID && t.Comm != "" {
			ev.procs.names[t.PID] = max(ev.procs.names[t.PID], t.Comm)
		}
	}
	for i := range ev.in.Processes {
		p := &ev.in.Processes[i]
		ev.procs.byPID[p.PID] = p
		if p.Parent != 0 {
			ev.procs.parents[p.PID] = p.Parent
		}
		if p.Name != "" {
			ev.procs.names[p.PID] = p.Name
		}
	}
	for _, l := range ev.in.Lives {
		if l.Kind == event.LifeFork && l.PID == l.TID || l.Kind == event.LifeExec { // not when it makes a thread
			ev.procs.born[l.PID] = max(ev.procs.born[l.PID], l.At)
		}
		if l.Kind == event.LifeExit && l.PID == l.TID {
			ev.procs.exited[l.PID] = l.At
		}
		if l.Kind == event.LifeFork && l.PID == l.TID && l.PID != l.Parent.PID && ev.procs.parents[l.PID] == 0 {
			ev.procs.parents[l.PID] = l.Parent.PID // it may have ended before /proc was read
		}
	}
}

// known returns the threads that a lock word may name.
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
	from = max(from, ev.in.First) // nothing was checked before the recording
	if to == 0 {
		to = last
		for _, at := range ev.host.stuck() {
			to = max(to, at)
		}
	}
	return from, max(from, to)
}

func (ev *evidence) readStats() {
	ev.calls.stats, ev.calls.gapStats = map[threadOp]*store.OpStat{}, map[event.Thread]gapTotals{}
	ev.procs.launchers, ev.procs.workers = map[event.Thread]bool{}, map[event.Thread]bool{}
	ev.procs.working, ev.procs.hostFuncs = map[uint32]bool{}, map[uint32]uint64{}
	ev.calls.firstOp, ev.calls.firstUse = map[processOp]uint64{}, map[uint32]uint64{}
	ev.calls.firstLaunch = map[uint32]uint64{}
	for i := range ev.in.Ops {
		o := &ev.in.Ops[i]
		ev.calls.stats[threadOp{o.Thread, o.Op}] = o
		if o.Op.Role() == event.RoleLaunch && o.Calls > 0 {
			ev.procs.launchers[o.Thread] = true
			if v, ok := ev.calls.firstLaunch[o.PID]; !ok || o.First < v {
				ev.calls.firstLaunch[o.PID] = o.First
			}
		}
		if isWork(o.Op.Role()) && o.Calls > 0 {
			ev.procs.workers[o.Thread], ev.procs.working[o.PID] = true, true
		}
		if tellsHost(o.Op) {
			ev.procs.hostFuncs[o.PID] = max(ev.procs.hostFuncs[o.PID], o.Calls) // a runtime call nests one of the driver
		}
		k := processOp{o.PID, o.Op}
		if v, ok := ev.calls.firstOp[k]; !ok || o.First < v {
			ev.calls.firstOp[k] = o.First
		}
		if v, ok := ev.calls.firstUse[o.PID]; !ok || o.First < v {
			ev.calls.firstUse[o.PID] = o.First
		}
	}
	// While a program runs, the sums of the last second are not there yet.
	for i := range ev.in.Calls {
		c := &ev.in.Calls[i]
		if c.Op.Role() == event.RoleLaunch {
			ev.procs.launchers[c.Thread] = true
		}
		if isWork(c.Op.Role()) {
			ev.procs.workers[c.Thread], ev.procs.working[c.PID] = true, true
		}
	}
	for _, g := range ev.in.GapStats {
		t := ev.calls.gapStats[g.Thread]
		t.gaps += g.Gaps
		t.sumNS += g.SumNS
		t.ledger.Add(&g.Ledger)
		ev.calls.gapStats[g.Thread] = t
	}
}
