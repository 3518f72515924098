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
	since time.Time
}

func newMappings() mappings {
	return mappings{first: map[int]probe.Mapped{}, spent: map[int]time.Duration{}}
}

const (
	lookTurn = 50 * time.Millisecond  // for which processes are looked at between two drains
	lookMost = 100 * time.Millisecond // for which one is looked at in a second without finding anything new
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
	uses := x.traced[m.PID]
	matters, err := limit.Within(&x.files, func() (bool, error) { return x.finder.Matters(m, uses), nil }, nil)
	if matters || err != nil {
		x.mapping.addMapping(m)
	}
}

// silent says once in a while that a file system or a process does not answer: until it does, no other library is
// attached to.
func (x *targets) silent(pid int) {
	x.mapping.addMapping(probe.Mapped{PID: pid, TID: pid, At: kernelTime()}) // it is tried again
	if now := time.Now(); now.Sub(x.silence) >= time.Minute {
		x.silence = now
		x.log.Warn("a file system or a process does not answer; until it does, no other library is traced", "pid", pid)
	}
	x.mapping.spent[pid] += lookMost // others are looked at first
}

func (d *mappings) addMapping(m probe.Mapped) {
	if _, due := d.first[m.PID]; !due {
		d.first[m.PID] = m
		d.due = append(d.due, m.PID)
	}
}

// lookAtMapped attaches to the libraries of processes that mapped one: each is looked at once, however much it mapped.
// It returns those that are traced. What it has no time for is done at the next call.
func (x *targets) lookAtMapped() (traced []int) {
	began := time.Now()
	if began.Sub(x.mapping.since) >= time.Second {
		x.mapping.since = began
		clear(x.mapping.spent)
	}
	if x.files.Stuck() || x.probing.Stuck() {
		return nil
	}
	due := x.mapping.due
	x.mapping.due = nil // to which those are added that are not done
	for _, pid := range due {
		t := time.Now()
		if t.Sub(began) > lookTurn || x.mapping.spent[pid] > lookMost {
			x.mapping.due = append(x.mapping.due, pid)
			continue
		}
		m := x.mapping.first[pid]
		delete(x.mapping.first, pid)
		any, fresh := x.process(pid)
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
	if err := x.tracer.Adopt(traced...); err != nil {
		x.log.Warn("cannot record where the threads' time goes", "pids", traced, "err", err)
	}
	return traced
}
