package agent

import (
	"time"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
)

// mappings are the processes that have mapped a file which may have functions to be probed, until they are looked at.
// To look at one takes up to some 50 ms, if it has the most mappings that a process may have; a program may map
// thousands of files a second, and start as many processes.
type mappings struct {
	due   []int                 // in the order in which they mapped it
	first map[int]probe.Mapped  // of each that is due
	spent map[int]time.Duration // for looks at a process in which nothing was attached to, since `since`
	asked map[int]time.Duration // for asking whether its files matter
	since time.Time

	dropped bool // there were too many
}

func newMappings() mappings {
	return mappings{first: map[int]probe.Mapped{}, spent: map[int]time.Duration{}, asked: map[int]time.Duration{}}
}

const (
	lookTurn   = 50 * time.Millisecond  // for which processes are looked at between two drains
	lookMost   = 250 * time.Millisecond // for which one is looked at in a second without finding anything new
	attachTurn = 500 * time.Millisecond // for which files of one are attached to between two drains
)

// mapped notes that a process has mapped a file executable.
func (x *targets) mapped(m probe.Mapped) {
	if !x.wants(m.PID) {
		x.keep(m)
		return
	}
	if _, due := x.mapping.first[m.PID]; due {
		return
	}
	if x.mapping.asked[m.PID] > lookMost { // its mappings tell, too
		x.mapping.addMapping(m)
		return
	}
	began, uses := time.Now(), x.traced[m.PID]
	matters, err := limit.Within(&x.files, func() (bool, error) { return x.finder.Matters(m, uses), nil }, nil)
	if matters || err != nil {
		x.mapping.addMapping(m)
	}
	x.mapping.asked[m.PID] += time.Since(began)
}

// again makes a process due once more.
func (x *targets) again(pid int) {
	m := x.looking
	if m.PID != pid {
		m = probe.Mapped{PID: pid, TID: pid, At: kernelTime()}
	}
	x.mapping.addMapping(m)
}

// silent says once in a while that a file system or a process does not answer: until it does, no other library is
// attached to.
func (x *targets) silent(pid int) {
	x.unanswered = true
	x.again(pid)
	if now := time.Now(); now.Sub(x.silence) >= time.Minute {
		x.silence = now
		x.log.Warn("a file system or a process does not answer; until it does, no other library is traced", "pid", pid)
	}
	x.mapping.spent[pid] += lookMost // others are looked at first
}

// maxDue bounds the processes that are due. If there are more, all processes are looked for.
const maxDue = 4096

func (d *mappings) addMapping(m probe.Mapped) {
	if _, due := d.first[m.PID]; due {
		return
	}
	if len(d.due) >= maxDue {
		d.dropped = true
		return
	}
	d.first[m.PID] = m
	d.due = append(d.due, m.PID)
}

// mappedWait reports whether processes wait to be looked at, and can be.
func (x *targets) mappedWait() bool {
	return len(x.mapping.due) > 0 && !x.files.Stuck() && !x.probing.Stuck()
}

// lookAtMapped attaches to the libraries of processes that mapped one: each is looked at once, however much it mapped.
// It returns those that are traced. What it has no time for is done at the next call.
func (x *targets) lookAtMapped() (traced []int) {
	began := time.Now()
	if began.Sub(x.mapping.since) >= time.Second {
		x.mapping.since = began
		clear(x.mapping.spent)
		clear(x.mapping.asked)
	}
	if !x.mappedWait() {
		return nil
	}
	due := x.mapping.due
	x.mapping.due = nil // to which those are added that are not done
	var later []int
	for _, pid := range due {
		t := time.Now()
		m, there := x.mapping.first[pid]
		switch {
		case !there: // it has ended
			continue
		case t.Sub(began) > lookTurn || x.mapping.spent[pid] > lookMost:
			later = append(later, pid)
			continue
		}
		delete(x.mapping.first, pid)
		if !x.wants(pid) { // another one has its id
			continue
		}
		x.hurried, x.looking = true, m
		any, fresh := x.process(pid)
		x.hurried, x.looking = false, probe.Mapped{}
		if fresh || !any && x.unattached(m) {
			x.late += since(m.At)
		}
		if any {
			traced = append(traced, pid)
		}
		if !fresh {
			x.mapping.spent[pid] += time.Since(t)
		}
	}
	x.mapping.due = append(later, x.mapping.due...)
	if err := x.tracer.Adopt(traced...); err != nil {
		x.log.Warn("cannot record where the threads' time goes", "pids", traced, "err", err)
	}
	return traced
}

// keep remembers a mapping of a file with probes by a process that may be a child of a traced one,
// whose fork is not reported yet.
func (x *targets) keep(m probe.Mapped) {
	if m.PID != x.self && x.probed(m) {
		x.pending.addMapped(m)
	}
}

// probed reports whether a mapped file gets probes.
func (x *targets) probed(m probe.Mapped) bool {
	if x.finder.Library(m.Path) != nil {
		return true
	}
	for k, a := range x.attached {
		if a != nil && k.ino == m.Inode { // a program that contains a runtime, in another process
			return true
		}
	}
	return false
}

// unattached reports whether a mapped file is a CUDA library with a probe that was not attached, in
// a process that has ended since: its calls are unknown.
func (x *targets) unattached(m probe.Mapped) bool {
	if x.finder.Library(m.Path) == nil {
		return false
	}
	for k, a := range x.attached {
		if a != nil && k.ino == m.Inode && (k.pid == 0 || k.pid == m.PID) {
			return false
		}
	}
	return true
}

// unnoticed counts the time of mappings that were noticed too late to attach to.
func (x *targets) unnoticed(m probe.Mapped) {
	switch {
	case !x.wants(m.PID):
		x.keep(m)
	case x.unattached(m):
		x.late += since(m.At)
	}
}
