package agent

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// processTable knows the names of processes and threads: those traced, and those that
// appear in the recording as wakers, holders and culprits. What is new since the
// last take goes into the recording.
type processTable struct {
	fs        proc.FS
	owners    *owner.Reader
	machine   *machine
	processes map[uint32]store.Process
	threads   map[event.Thread]store.ThreadInfo
	newProcs  []store.Process
	newThread []store.ThreadInfo
	newReused []store.Reuse
	seenAt    map[uint32]uint64 // Unix ns at which a process existed whose start is not known
	endedAt   map[uint32]uint64 // Unix ns, of traced processes
	ended     []uint32          // keys of endedAt, in the order of their ends
	boot      func() uint64     // when the machine booted, Unix ns
	last      event.Thread      // thread of the last call: most calls have the same one
	dispatch  map[event.Thread]bool
	limited   map[uint32]bool // processes whose memory limit was read
	looks     map[uint32]int  // seconds since a process was found to call CUDA itself
	heldBack  map[uint32]bool // processes that were throttled by the quota of their recorded control group
	newLimits []store.MemoryLimit
	sched     scheduling
	execs     executed
	lookups   int // in this drain; bounded so that many new processes do not delay it
	pruneAt   int // number of processes and threads from which prune removes ended ones
}

// maxLookups bounds how many untraced processes are looked up in /proc in one drain.
const maxLookups = 64

func newProcessTable(fs proc.FS) *processTable {
	return &processTable{
		fs: fs, owners: owner.New(""), machine: newMachine(), processes: map[uint32]store.Process{},
		threads:  map[event.Thread]store.ThreadInfo{},
		dispatch: map[event.Thread]bool{}, limited: map[uint32]bool{}, looks: map[uint32]int{}, heldBack: map[uint32]bool{},
		seenAt: map[uint32]uint64{}, endedAt: map[uint32]uint64{}, boot: bootTime(),
		pruneAt: maxUntraced,
		execs:   executed{},
		sched:   scheduling{known: map[event.Thread]seenScheduling{}},
	}
}

// follower returns the hooks. also reports processes that are recorded in full without using a
// library.
func (p *processTable) follower(s *shared, also func(pid uint32) bool) follower {
	return follower{
		start: func(*beginning) {
			for pid := range s.targets.traced {
				p.process(pid, true)
			}
			p.snapshot(time.Now()) // the base of the first second
		},
		traced: func(pid int) { p.process(pid, true) },
		life: func(l *event.Life) {
			if l.Kind == event.LifeExec {
				p.process(int(l.PID), s.targets.traced[int(l.PID)] || also(l.PID))
			}
		},
		records: func(u *workItem) {
			p.observe(&u.records)
			p.takeAll(&u.batch)
		},
		second: p.second,
	}
}

// takeAll adds new entries to a batch.
func (p *processTable) takeAll(b *store.Batch) {
	b.Processes, b.Threads = p.take(b.Processes, b.Threads)
	b.Reused, p.newReused = append(b.Reused, p.newReused...), p.newReused[:0]
	b.Limits, p.newLimits = append(b.Limits, p.newLimits...), p.newLimits[:0]
	b.Scheduling, p.sched.fresh = append(b.Scheduling, p.sched.fresh...), p.sched.fresh[:0]
}

func (p *processTable) second(s *second) {
	b := &s.item.batch
	p.frameworks()
	b.Throttles = p.throttles(b.Throttles, s.now)
	b.Snapshots = append(b.Snapshots, p.snapshot(s.now)...)
	s.status.Processes = p.traced()
	p.prune()
}

// process reads, again if needed, a process's entry from /proc.
func (p *processTable) process(pid int, traced bool) {
	q := store.Process{PID: uint32(pid), Rank: -1, LocalRank: -1, WorldSize: -1, Traced: traced}
	name, err := p.fs.Comm(pid, pid)
	if err != nil {
		if old, ok := p.processes[uint32(pid)]; ok {
			q.Name = old.Name
		}
	}
	if name != "" {
		q.Name = name
	}
	if parent, err := p.fs.Parent(pid); err == nil {
		q.Parent = uint32(parent)
	}
	q.Born, _ = p.fs.StartTime(pid) // 0 if it is gone
	if old := p.processes[q.PID]; q.Born == 0 {
		q.Born = old.Born
	} else if p.another(q.PID, q.Born) {
		p.replaced(q.PID, p.began(q.Born))
	}
	if traced {
		p.details(pid, &q)
	}
	p.put(q)
}

// forgetProcess drops what is known of a process whose id another one has.
func (p *processTable) forgetProcess(pid uint32) {
	delete(p.processes, pid)
	delete(p.limited, pid)
	delete(p.looks, pid)
	delete(p.heldBack, pid)
	delete(p.seenAt, pid)
	delete(p.endedAt, pid)
}

// details reads what is needed only of traced processes. If the process is gone, fields stay empty.
func (p *processTable) details(pid int, q *store.Process) {
	q.Command, _ = p.fs.Command(pid)
	if g, err := p.fs.Cgroups(pid); err == nil {
		q.Cgroup = groupOf(g)
	}
	if before := p.processes[q.PID].Cgroup; p.heldBack[q.PID] || before != "" && p.fs.Ended(pid) {
		q.Cgroup = before
	}
	p.framework(pid, q)
	o, rank := p.owners.Of(pid)
	q.Owner, q.Rank, q.LocalRank, q.WorldSize = o, rank.Rank, rank.Local, rank.World
}

// framework reads which framework a process uses. After its end, the last result stays.
func (p *processTable) framework(pid int, q *store.Process) {
	q.Framework = p.processes[uint32(pid)].Framework
	list, err := p.fs.Maps(pid)
	if err != nil {
		return
	}
	paths := make([]string, 0, len(list))
	for i := range list {
		if len(paths) == 0 || paths[len(paths)-1] != list[i].Path { // mappings of one file are adjacent
			paths = append(paths, list[i].Path)
		}
	}
	q.Framework = framework.Of(paths)
}

// frameworks looks again at traced processes in which no framework was found so far: libraries may
// be loaded at any time, most of them early. So it looks after 1, 2, 4, … seconds.
func (p *processTable) frameworks() {
	for pid, q := range p.processes {
		if !q.Traced || q.Framework != framework.CUDA || p.endedAt[pid] != 0 {
			delete(p.looks, pid)
			continue
		}
		p.looks[pid]++
		if n := p.looks[pid]; n&(n-1) == 0 {
			p.framework(int(pid), &q)
			p.put(q)
		}
	}
}

// groupOf picks the control group to record for a process from its groups by controller:
// that of the CPU controller, if it has one.
func groupOf(g map[string]string) string {
	return cmp.Or(below(g["cpu"]), below(g[""]), g["cpu"], g[""])
}

// below is a control group's path, empty for the root: in a hybrid layout a process may be in a
// group of only one hierarchy.
func below(group string) string {
	if group == "/" {
		return ""
	}
	return group
}

func (p *processTable) put(q store.Process) {
	if old, ok := p.processes[q.PID]; ok {
		q.Traced = q.Traced || old.Traced
		if old == q {
			return
		}
	}
	p.processes[q.PID] = q
	p.newProcs = append(p.newProcs, q)
}

// thread notes the name of a thread.
func (p *processTable) thread(s sighting) {
	t, comm := s.Thread, s.comm
	if t.TID == 0 {
		return
	}
	i := store.ThreadInfo{Thread: t, Comm: comm, Dispatch: s.dispatch || p.dispatch[t]}
	old, ok := p.threads[t]
	if comm == "" {
		i.Comm = old.Comm
	}
	if i.Born = s.born; s.born == 0 {
		i.Born = old.Born
	}
	if ok && old == i {
		return
	}
	// The end of a traced process is reported, and so is that of its threads, if nothing was lost.
	ask := s.born == 0 && comm != "" && (!ok || t.PID == t.TID || !p.processes[t.PID].Traced)
	switch {
	case !ask:
		p.threads[t] = i
	case p.lookups < maxLookups: // else it is looked up when it is seen again
		p.lookups++
		if p.reused(t.PID, s.existed) {
			p.addUntraced(s)
			i.Born = 0
		}
		p.threads[t] = i
	}
	i.At = s.existed
	p.newThread = append(p.newThread, i)
	if t.PID == t.TID && comm != "" {
		if q, ok := p.processes[t.PID]; ok && q.Name != comm { // a process has the name of its main thread
			q.Name = comm
			p.put(q)
		}
	}
}

// observe learns names from drained records.
func (p *processTable) observe(r *probe.Records) {
	p.lookups = 0
	for i := range r.Lives { // starts come before other records of the thread, ends after them
		l := &r.Lives[i]
		p.execs.life(l)
		main := l.PID == l.TID
		if main && l.Kind == event.LifeFork {
			p.forked(l)
		}
		s := sighting{l.Thread, l.Comm, l.At, l.At, 0, l.Kind == event.LifeFirst && l.Op.Mark() == 0}
		p.thread(s)
		if main {
			p.addUntraced(s)
		}
	}
	for i := range r.Calls {
		t := r.Calls[i].Thread
		if t == p.last {
			continue
		}
		p.last = t
		if !p.dispatch[t] {
			p.dispatch[t] = true
			comm, _ := p.fs.Comm(int(t.PID), int(t.TID)) // empty if it ended; its totals have the name
			p.thread(sighting{Thread: t, comm: comm, existed: r.Calls[i].Start, dispatch: true})
		}
	}
	for i := range r.Marks {
		if t := r.Marks[i].Thread; p.threads[t].TID == 0 {
			comm, _ := p.fs.Comm(int(t.PID), int(t.TID)) // as above
			p.thread(sighting{Thread: t, comm: comm, existed: r.Marks[i].Start})
		}
	}
	for i := range r.ThreadTimes {
		t := &r.ThreadTimes[i]
		p.seen(sighting{t.Thread, t.Comm, t.At, t.At, t.Born, t.Dispatch})
	}
	for i := range r.OffCPU {
		o := &r.OffCPU[i]
		until := o.Start + o.Duration // others may have begun within it
		p.seen(sighting{o.Thread, o.Comm, o.Start, o.Start, 0, o.Dispatch})
		if o.Waker.TID != 0 {
			p.seen(sighting{o.Waker, o.WakerComm, o.Start, until, o.WakerBorn, false})
		}
		p.sched.observe(p.fs, o)
		for _, c := range o.Culprits {
			p.seen(sighting{c.Thread, c.Comm, o.Start, until, c.Born, false})
		}
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		p.seen(sighting{q.Thread, q.Comm, q.Start, q.Start, 0, false})
	}
	for i := range r.Connections {
		c := &r.Connections[i]
		p.seen(sighting{c.Thread, c.Comm, c.At, c.At, 0, false})
	}
	p.limits(r.Reclaims)
	for i := range r.Lives {
		if l := &r.Lives[i]; l.Kind == event.LifeExit {
			p.forget(l)
		}
	}
}

// threadsOf lists the known threads of a process: its first one, then the others.
func (p *processTable) threadsOf(pid uint32) []event.Thread {
	list := []event.Thread{{PID: pid, TID: pid}}
	for t := range p.threads {
		if t.PID == pid && t.TID != pid {
			list = append(list, t)
		}
	}
	return list
}

// forget drops a thread that ended; its ids may be used again.
func (p *processTable) forget(l *event.Life) {
	delete(p.dispatch, l.Thread)
	delete(p.threads, l.Thread)
	delete(p.sched.known, l.Thread)
	if l.PID == l.TID {
		delete(p.limited, l.PID)
		delete(p.looks, l.PID)
		delete(p.heldBack, l.PID)
		p.over(l.PID, l.At)
	}
	if p.last == l.Thread {
		p.last = event.Thread{}
	}
}

// take appends new entries to the given slices.
func (p *processTable) take(procs []store.Process, threads []store.ThreadInfo) ([]store.Process, []store.ThreadInfo) {
	procs, threads = append(procs, p.newProcs...), append(threads, p.newThread...)
	p.newProcs, p.newThread = p.newProcs[:0], p.newThread[:0]
	return procs, threads
}

// traced lists the traced processes by id.
func (p *processTable) traced() []Traced {
	var r []Traced
	for pid, q := range p.processes {
		if q.Traced && int(pid) != os.Getpid() {
			r = append(r, Traced{int(pid), q.Name})
		}
	}
	slices.SortFunc(r, func(a, b Traced) int { return cmp.Compare(a.PID, b.PID) })
	return r
}

// name is the name of a process, empty if unknown.
func (p *processTable) name(pid uint32) string { return p.processes[pid].Name }
