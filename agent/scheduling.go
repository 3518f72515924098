package agent

import (
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// scheduling reads the scheduling policy and allowed CPUs of threads that make calls, that waited
// for a CPU, or that ran meanwhile.
type scheduling struct {
	known map[event.Thread]store.Scheduling
	fresh []store.Scheduling
}

// minWait is the wait for a CPU, in ns, from which threads are looked up: shorter waits are not
// reported one by one.
const minWait = 1_000_000

// maxScheduled bounds the number of threads looked up; when it is reached, the table is cleared.
const maxScheduled = 1 << 12

// observe looks up the threads of an off-CPU interval that are not known yet. A thread that is gone
// stays unknown.
func (s *scheduling) observe(fs proc.FS, o *event.OffCPU) {
	if o.Dispatch { // advice about other threads must leave it its CPUs
		s.look(fs, o.Thread)
	}
	if o.RunQueue < minWait || len(o.Culprits) == 0 {
		return
	}
	s.look(fs, o.Thread)
	for i := range o.Culprits {
		s.look(fs, o.Culprits[i].Thread)
	}
}

func (s *scheduling) look(fs proc.FS, t event.Thread) {
	if _, ok := s.known[t]; ok || t.TID == 0 {
		return
	}
	if len(s.known) >= maxScheduled {
		clear(s.known)
	}
	p, err := fs.Scheduling(int(t.PID), int(t.TID))
	if err != nil {
		s.known[t] = store.Scheduling{} // do not look it up again
		return
	}
	v := store.Scheduling{Thread: t, Policy: store.Policy(p.Policy), Nice: int8(p.Nice), Realtime: uint8(p.Realtime)}
	v.CPUs, _ = fs.Affinity(int(t.PID), int(t.TID)) // on an error, the other fields are still useful
	s.known[t] = v
	s.fresh = append(s.fresh, v)
}
