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

// sighting is a record's word of a thread. It had the name at one time, and existed at another one, which is not
// earlier; both are Unix ns. born is the start of its process by the kernel, ns since the boot; 0 is not known.
type sighting struct {
	event.Thread
	comm              string
	at, existed, born uint64
	dispatch          bool
}

// seen notes the name that a thread had.
func (p *processTable) seen(s sighting) {
	switch ended := p.endedAt[s.PID]; {
	case s.born != 0:
		if p.earlier(s.PID, s.born, s.existed) {
			return // what is known is of a later process with the id
		}
	case ended != 0 && (s.at > ended+slack || s.existed > ended+slack && s.comm != p.name(s.PID)):
		p.replaced(s.PID, ended)
	}
	if s.PID == s.TID && (s.at < p.execs[s.PID] || p.other(s.PID, s.at)) {
		s.comm = p.processes[s.PID].Name
	}
	p.thread(s)
	p.addUntraced(s)
}
