package agent

import (
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/probe"
)

// mappings handles what was mapped executable.
func (r *run) mappings() {
	var fresh []int
	r.watcher.Drain(func(m probe.Mapped) {
		if r.targets.mapped(m) {
			fresh = append(fresh, m.PID)
		}
		if r.targets.wants(m.PID) {
			r.gpus.mapped(m, r.targets.fs)
		}
		r.footprints.mapped(m)
		r.pythons.mapped(m, r.targets)
	})
	for _, pid := range fresh { // by now, all that it has mapped is attached to
		r.processTable.process(pid, true)
		r.footprints.also(pid, r.processTable.name)
	}
}

func (r *run) period() time.Duration {
	switch f := r.tracer.Fill(); {
	case f > 0.25:
		return fastDrain
	case f > 0.05:
		return midDrain
	}
	return slowDrain
}

// maxEarly bounds the process starts and exits that are handled while the recorder is behind,
// some 100 bytes each. More stay in the kernel's ring, which counts what it has no room for.
const maxEarly = 1 << 16

// drain empties the ring, a chunk at a time, into units from next. It reports whether the ring
// is empty: if next has none (nil), the calls wait in it. Process starts do not wait, as a new
// process needs its probes before its first call.
func (r *run) drain(next func() *unit) bool {
	for {
		if r.recorder.busy() {
			r.schedPolicy.hurry() // or nobody frees a unit
		}
		u := next()
		if u == nil {
			if handled := len(r.early.Lives); handled < maxEarly {
				r.tracer.DrainLives(&r.early)
				r.lives(r.early.Lives[handled:])
			}
			return false
		}
		handled := len(r.early.Lives)
		u.records.Lives = append(u.records.Lives, r.early.Lives...)
		r.malformed += uint64(r.early.Malformed)
		r.early.Reset()
		n := r.tracer.Drain(&u.records, chunk)
		r.malformed += uint64(u.records.Malformed)
		r.hostIO.observe(&u.records, r.watched())
		r.lives(u.records.Lives[handled:])
		if len(u.records.Calls) > 0 && r.first == 0 {
			r.first = time.Since(r.began)
		}
		r.meter.calls(u.records.Calls)
		r.accounts.observe(&u.records)
		r.accounts.tell(u)
		r.processTable.observe(&u.records)
		r.hostIO.take(&u.batch)
		u.batch.Processes, u.batch.Threads = r.processTable.take(u.batch.Processes, u.batch.Threads)
		u.batch.Limits = append(u.batch.Limits, r.processTable.newLimits...)
		r.processTable.newLimits = r.processTable.newLimits[:0]
		u.batch.Scheduling = append(u.batch.Scheduling, r.processTable.sched.fresh...)
		r.processTable.sched.fresh = r.processTable.sched.fresh[:0]
		if u.empty() {
			r.recorder.reuse(u)
		} else {
			r.recorder.send(u)
		}
		if n < chunk {
			return true
		}
	}
}

func (r *run) lives(lives []event.Life) {
	for i := range lives {
		l := &lives[i]
		pid := int(l.PID)
		isProcess := l.PID == l.TID
		r.footprints.life(l)
		switch {
		case l.Kind == event.LifeFork && isProcess:
			r.ended(r.exiting.remove(pid)) // an old process with the same id
			r.targets.forked(int(l.Parent.PID), pid)
			r.hostIO.begin(pid, true)
			r.pythons.forked(int(l.Parent.PID), pid)
		case l.Kind == event.LifeExec:
			if len(r.exiting.remove(pid)) > 0 { // another thread has taken the place of the first one
				r.targets.replaced(pid)
			}
			r.processTable.process(pid, r.targets.traced[pid] || r.footprints.procs[l.PID] != nil)
			r.pythons.executed(pid)
		case l.Kind == event.LifeExit:
			r.exiting.add(l)
		case l.Kind == event.LifeFirst && r.targets.firstCall(pid):
			r.processTable.process(pid, true)
			r.footprints.also(pid, r.processTable.name)
			r.pythons.look(pid)
		}
	}
}
