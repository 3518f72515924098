package agent

import "github.com/ingero-io/ingero/event"

// executed is when processes last executed a program, in Unix ns by pid. Process starts and exits
// come through a ring of their own and are read first, so that later records may still have the
// name of the program before.
type executed map[uint32]uint64

// maxLate is longer than any record takes to arrive, in ns.
const maxLate = 10e9

func (e executed) life(l *event.Life) {
	switch {
	case l.Kind == event.LifeExec:
		e[l.PID] = l.At
	case l.Kind == event.LifeFork && l.PID == l.TID:
		delete(e, l.PID) // the pid is used again
	}
}

// prune drops entries too old for any record that may still arrive.
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

// seen notes the name that a thread had at a time. It existed at another one, which is not earlier. Both are Unix ns.
func (p *processTable) seen(t event.Thread, comm string, at, existed uint64, dispatch bool) {
	if ended := p.endedAt[t.PID]; ended != 0 && (at > ended+slack || existed > ended+slack && comm != p.name(t.PID)) {
		p.replaced(t.PID, ended)
	}
	if p.threads[t].Comm != comm && p.renamed(t.PID, comm, existed) {
		p.replaced(t.PID, existed)
	}
	if t.PID == t.TID && (at < p.execs[t.PID] || p.other(t.PID, at)) {
		comm = p.processes[t.PID].Name
	}
	p.thread(t, comm, existed, dispatch)
	p.addUntraced(t.PID, comm, existed)
}
