package socket

import (
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/label"
	"github.com/ingero-io/ingero/event"
)

// process is a process that has labels.
type process struct {
	pid     uint32
	started uint64 // clock ticks since boot
	uid     uint32
	fd      int    // pidfd
	exited  uint64 // Unix ns at which its last thread ended so far; 0: none did
	held    map[string]held
}

// held is a value that a key has, and since when, Unix ns.
type held struct {
	value string
	since uint64
}

// maxHeld is the number of a process's keys whose values are known; what the others have is always told.
const maxHeld = 64

// holds reports whether the key has the value already, and else notes that it has it from now on.
func (p *process) holds(key, value string, since uint64) bool {
	h, known := p.held[key]
	switch {
	case known && since < h.since: // of an earlier time
	case known && h.value == value:
		return true
	case known || len(p.held) < maxHeld:
		if p.held == nil {
			p.held = map[string]held{}
		}
		p.held[key] = held{value, since}
	}
	return false
}

// about finds the process that a line is about and checks that the sender may label it: its own, one
// of its user's, or any if the sender is root or the tracing user. It returns the process's start
// time, 0 if it is the sender's own, which has ended; or else the counter of the reason for refusing.
func (s *Server) about(c *conn, l *label.Line) (started uint64, why *uint64) {
	pid := l.PID
	if pid == 0 {
		pid = c.peer.PID
	}
	if pid == 0 { // of another pid namespace, which the kernel does not translate
		return 0, &s.refused.NotAllowed
	}
	p, full := s.process(pid)
	switch {
	case full:
		return 0, &s.refused.TooMany
	case pid == c.peer.PID && (p == nil || p.started != c.started): // it has ended
		if l.StartTime != 0 && c.started != 0 && l.StartTime != c.started {
			return 0, &s.refused.NotAllowed
		}
		return 0, nil
	case p == nil:
		return 0, &s.refused.NotAllowed
	case l.StartTime != 0 && l.StartTime != p.started: // another process with this id
		return 0, &s.refused.NotAllowed
	case pid != c.peer.PID && p.uid != c.peer.UID && !s.trusts(c.peer.UID):
		return 0, &s.refused.NotAllowed
	}
	return p.started, nil
}

// process looks up a process; nil if there is none. full says that too many have labels, or that too many
// were looked up in the second.
func (s *Server) process(pid uint32) (p *process, full bool) {
	if p = s.procs[pid]; p != nil {
		return p, false
	}
	if s.lookups++; s.lookups > maxLookups || len(s.procs) >= MaxProcesses {
		return nil, true
	}
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return nil, false
	}
	p = &process{pid: pid, fd: fd}
	p.started, err = s.opts.Proc.StartTime(int(pid)) // after the pidfd: of that process, or of none
	if err == nil {
		p.uid, err = s.opts.Proc.UID(int(pid))
	}
	switch {
	case err != nil:
		p = nil
	case !s.roomFor(p.uid):
		p, full = nil, true
	case s.watch(fd) != nil:
		p = nil
	}
	if p == nil {
		unix.Close(fd)
		return nil, full
	}
	s.procs[pid], s.pidfds[fd] = p, p
	return p, false
}

// roomFor reports whether another process of a user may have labels.
func (s *Server) roomFor(uid uint32) bool {
	if s.trusts(uid) {
		return true
	}
	n := 0
	for _, p := range s.procs {
		if p.uid == uid {
			n++
		}
	}
	return n < MaxProcessesOfUser
}

// end returns from Poll that a process has ended, and forgets it.
func (s *Server) end(p *process, now uint64) {
	e := event.Label{Arrived: now, Since: now, PID: p.pid, StartTime: p.started}
	if p.exited != 0 {
		e.Since = p.exited
	}
	s.out = append(s.out, e)
	unix.Close(p.fd) // which also ends the watch
	delete(s.pidfds, p.fd)
	delete(s.procs, p.pid)
}

// Exited notes that a thread of a process ended at a Unix time in ns. That of the last one is more exact
// than when Poll notices the end of the process.
func (s *Server) Exited(pid uint32, at uint64) {
	if p := s.procs[pid]; p != nil {
		p.exited = max(p.exited, at)
	}
}
