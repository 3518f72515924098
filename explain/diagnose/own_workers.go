package diagnose

import "fmt"

// ownWorkers are the processes of a program's own that had its CPU: data workers, of which each takes little and all
// together much.
type ownWorkers struct {
	processes int
	name      string // of all of them; empty if they differ
	ns        uint64
}

// ownWorkersOf sums up the runners that another process of their program started, or that it started with.
func (ps *processes) ownWorkersOf(list []runner, owner uint32) (w ownWorkers) {
	for i := range list {
		r := &list[i]
		if r.PID == owner || !ps.feeds(r.PID, owner) {
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
