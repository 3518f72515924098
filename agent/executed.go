package agent

import "github.com/ingero-io/ingero/event"

// executed says when processes last executed a program, in Unix ns by process. Births
// and deaths come by a ring of their own, before what happened between them: a record
// of the time before has the name of the program before.
type executed map[uint32]uint64

// maxLate is longer than any record is on its way, in ns.
const maxLate = 10e9

func (e executed) life(l *event.Life) {
	switch {
	case l.Kind == event.LifeExec:
		e[l.PID] = l.At
	case l.Kind == event.LifeFork && l.PID == l.TID:
		delete(e, l.PID) // the id is used again
	}
}

// prune forgets what no record is late for.
func (e executed) prune() {
	last := uint64(0)
	for _, at := range e {
		last = max(last, at)
	}
	for pid, at := range e {
		if last-at > maxLate {
			delete(e, pid)
		}
	}
}

// seen notes a thread's name as a record of a time has it.
func (p *processTable) seen(t event.Thread, comm string, at uint64, dispatch bool) {
	if t.PID == t.TID && at < p.execs[t.PID] {
		comm = p.processes[t.PID].Name
	}
	p.thread(t, comm, dispatch)
	p.addUntraced(t.PID, comm)
}
