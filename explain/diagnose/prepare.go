package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// preparation is one step in which evidence is made of an input.
type preparation struct {
	run   func(*evidence)
	needs string // fields of evidence that steps before it gave; all steps read the input
	gives string // fields of evidence
}

// preparations are the steps, in their order. A test holds what each says against its code.
var preparations = []preparation{
	{(*evidence).readNames, "", "procs names parents born"},
	{(*evidence).readSyscalls, "", "readCalls receiving"},
	{(*evidence).readWindow, "", "from to"},
	{(*evidence).readIndex, "", "x"},
	{(*evidence).readStats, "", "stats gapStats launchers workers working firstOp firstUse firstLaunch"},
	{(*evidence).readKernels, "", "kernels"},
	{(*evidence).readNesting, "", "nested"},
	{(*evidence).readGPUs, "", "series gpus chosen holds xids"},
	{(*evidence).readThrottling, "procs", "held"},
	{(*evidence).readMissing, "", "missing"},
	{(*evidence).readStalls, "", "stalls"},
	{(*evidence).readHeaps, "", "heaps"},
	{(*evidence).readStaged, "stats", "staged"},
	{(*evidence).readReclaims, "", "reclaims"},
	{(*evidence).readReceivers, "parents launchers receiving", "receivers"},
	{(*evidence).readJoins, "", "joins"},
	{(*evidence).readQueued, "series", "steps queued unseen"},

	// Threads and their waits, each with its root.
	{
		(*evidence).readSubjects,
		"parents launchers workers working receivers receiving x from to nested reclaims held", "subjects",
	},

	// What is usual for them; these fill in the subjects.
	{(*evidence).readKernelLoads, "series subjects", "kernelLoads"},
	{(*evidence).readSteps, "stats subjects", ""},
	{(*evidence).readWork, "stats series subjects", ""},
	{(*evidence).readSites, "series subjects", "sites"},
	{(*evidence).readLevels, "series sites subjects", ""},
	{(*evidence).readEarlyWaits, "stats series steps subjects", "early"},

	// What loses no time, or has not ended.
	{(*evidence).readLeaks, "missing heaps", "leaks"},
	{(*evidence).readGraphs, "series subjects", "graphs"},
	{(*evidence).readFlights, "", "flights"},
}

// newEvidence prepares an input. What ranks of several machines did together is added by linkMachines.
func newEvidence(in *Input) *evidence {
	ev := &evidence{
		in: in, launched: map[uint32]map[uint64]uint64{}, medians: map[*store.OpStat]uint64{},
		delays: map[uint32]uint64{}, remoteThreads: map[uint32]remoteThread{},
	}
	for _, p := range preparations {
		p.run(ev)
	}
	return ev
}

func (ev *evidence) readSyscalls() {
	ev.readCalls = event.SyscallsNamed(ev.in.Arch, reads)
	ev.receiving = event.SyscallsNamed(ev.in.Arch, reads+" "+receiving)
}

func (ev *evidence) readWindow() { ev.from, ev.to = ev.window() }

func (ev *evidence) readIndex() {
	ev.x = ledger.NewIndex(ev.in.Arch, ev.in.OffCPU, ev.in.ThreadTimes, ev.known(), ev.in.Lives)
}

func (ev *evidence) readNesting() {
	ev.nested = recording.Nesting{}
	for i := range ev.in.Calls {
		ev.nested.Add(&ev.in.Calls[i])
	}
}

func (ev *evidence) readThrottling() { ev.held = ev.throttledTime() }
func (ev *evidence) readMissing()    { ev.missing = missing(ev.in) }
func (ev *evidence) readStalls()     { ev.stalls = sorted(ev.in.Stalls) }
func (ev *evidence) readReclaims()   { ev.reclaims = ledger.ReclaimsByThread(ev.in.Reclaims) }
func (ev *evidence) readLeaks()      { ev.leaks = ev.growths() }

func (ev *evidence) readNames() {
	ev.procs, ev.names, ev.parents = map[uint32]*store.Process{}, map[uint32]string{}, map[uint32]uint32{}
	ev.born = map[uint32]bool{}
	for _, pid := range ev.in.tracers() {
		ev.names[pid] = "ingero"
	}
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
	ev.stats, ev.gapStats = map[threadOp]*store.OpStat{}, map[event.Thread]gapTotals{}
	ev.launchers, ev.workers, ev.working = map[event.Thread]bool{}, map[event.Thread]bool{}, map[uint32]bool{}
	ev.firstOp, ev.firstUse, ev.firstLaunch = map[processOp]uint64{}, map[uint32]uint64{}, map[uint32]uint64{}
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
