package agent

import (
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// drained is the state between two drains.
type drained struct {
	early     probe.Records // process starts and exits that were handled, but are not in a work item yet
	malformed uint64        // records that could not be read
	first     time.Duration // time until the first call; 0: there was none
}

func (r *run) period() time.Duration {
	switch f := r.tracer.Fill(); {
	case f > 0.25, r.targets.mappedWait():
		return fastDrain
	case f > 0.05:
		return midDrain
	}
	return slowDrain
}

// maxEarly bounds the process starts and exits that are handled while the recorder is behind, some
// 100 bytes each. More stay in the kernel's ring, which counts the records that it has to drop.
const maxEarly = 1 << 16

// drain empties the ring, a chunk at a time, into work items from next. It reports whether the ring
// is empty. If next returns nil, calls stay in the ring. Process starts are handled anyway: a new
// process needs its probes before its first call. After most records it returns: programs may make more as
// fast as they are handled.
func (r *run) drain(next func() *workItem, most int) bool {
	d := &r.drained
	for {
		if r.recorder.busy() {
			r.schedPolicy.hurry() // the recorder must run to free a work item
		}
		u := next()
		if u == nil {
			if handled := len(d.early.Lives); handled < maxEarly {
				r.tracer.DrainLives(&d.early)
				r.lives(d.early.Lives[handled:])
			}
			return false
		}
		handled := len(d.early.Lives)
		u.records.Lives = append(u.records.Lives, d.early.Lives...)
		d.malformed += uint64(d.early.Malformed)
		d.early.Reset()
		n := r.tracer.Drain(&u.records, chunk)
		d.malformed += uint64(u.records.Malformed)
		r.lives(u.records.Lives[handled:])
		if len(u.records.Calls) > 0 && d.first == 0 {
			d.first = time.Since(r.began)
		}
		r.followers.records(u)
		if u.empty() {
			r.recorder.reuse(u)
		} else {
			r.recorder.send(u)
		}
		if n < chunk {
			return true
		}
		if most -= n; most <= 0 {
			return false
		}
	}
}

// lives handles threads and processes that began, executed a program, or ended.
func (r *run) lives(lives []event.Life) {
	for i := range lives {
		l := &lives[i]
		pid := int(l.PID)
		switch {
		case l.Kind == event.LifeFork && l.PID == l.TID:
			r.ended(r.exiting.remove(pid)) // an old process with the same pid
			r.targets.forked(int(l.Parent.PID), pid, l.At)
		case l.Kind == event.LifeExec:
			if len(r.exiting.remove(pid)) > 0 { // another thread executed the program and replaced the first one
				r.targets.replaced(pid)
			}
			r.targets.users.doubt(pid)
		case l.Kind == event.LifeExit:
			r.exiting.addEnd(l)
		}
		r.followers.life(l)
		if l.Kind == event.LifeFirst && r.targets.firstCall(pid) {
			r.followers.traced(pid)
		}
	}
}
