package diagnose

import "fmt"

// ownWorkers are the processes of a program's own that had its CPU: data workers, of which each takes little and all
// together much.
type ownWorkers struct {
	processes int
	name      string // of all of them; empty if they differ
	ns        uint64
}

// pair is two processes.
type pair struct{ one, other uint32 }

// minWakes is how often a process and its worker wake each other at least: at its start and end any child does once.
const minWakes = 10

// worksFor reports whether a process works for another one: it descends from it, and they wake each other in
// system calls. What a program only started, such as a shell's background job, does not work for it.
func (ps *processes) worksFor(worker, owner uint32) bool {
	if worker == owner || !ps.feeds(worker, owner) {
		return worker == owner
	}
	if ps.woke == nil {
		ps.woke = map[pair]int{}
		for i := range ps.in.OffCPU {
			o := &ps.in.OffCPU[i]
			if followable(o.Class) && o.WakerSyscall >= 0 && o.Waker.PID != 0 && o.Waker.PID != o.PID {
				ps.woke[pair{o.Waker.PID, o.PID}]++
			}
		}
	}
	return ps.woke[pair{worker, owner}]+ps.woke[pair{owner, worker}] >= minWakes
}

// ownWorkersOf sums up the runners that work for a process.
func (ps *processes) ownWorkersOf(list []runner, owner uint32) (w ownWorkers) {
	for i := range list {
		r := &list[i]
		if r.PID == owner || !ps.worksFor(r.PID, owner) {
			continue
		}
		if w.processes++; w.processes == 1 {
			w.name = r.name
		} else if w.name != r.name {
			w.name = ""
		}
		w.ns += r.NS
	}
	return w
}

// words name them from the point of view of their program: "8 of its own workers (pt_data_worker)".
func (w *ownWorkers) words() string {
	s := fmt.Sprintf("%d of its own workers", w.processes)
	if w.processes == 1 {
		s = "its own worker"
	}
	if w.name != "" {
		s += " (" + w.name + ")"
	}
	return s
}

// hadCPU says who had the CPU of a thread of a process: its own workers together, one that had it for most of the time,
// or many.
func (ps *processes) hadCPU(list []runner, owner uint32) string {
	known, top := total(list), list[0]
	if w := ps.ownWorkersOf(list, owner); w.processes > 0 && share(w.ns, known) >= half {
		return w.words() + " had its CPU"
	}
	who := fmt.Sprintf("%s (pid %d)", top.name, top.PID)
	if top.PID == owner {
		who = fmt.Sprintf("its own thread %s (tid %d)", printable(top.Comm), top.TID)
	}
	if share(top.NS, known) < half {
		return fmt.Sprintf("%d others had its CPU, longest %s", len(list), who)
	}
	return who + " had its CPU"
}
