package agent

import (
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// scheduling reads the scheduling policy and allowed CPUs of threads that make calls, that waited
// for a CPU, or that ran meanwhile.
type scheduling struct {
	known map[event.Thread]seenScheduling
	fresh []store.Scheduling
}

// seenScheduling is what is known of a thread, and when it was looked up last, Unix ns.
type seenScheduling struct {
	store.Scheduling
	at uint64
}

// lookAgain is how long a thread's affinity is taken to be as it was, ns: a library may pin the threads of its process
// at any time.
const lookAgain = 1_000_000_000

// minWait is the wait for a CPU, in ns, from which threads are looked up: shorter waits are not
// reported one by one.
const minWait = 1_000_000

// maxScheduled bounds the number of threads looked up; when it is reached, the table is cleared.
const maxScheduled = 1 << 12

// observe looks up the threads of an off-CPU interval that are not known yet. A thread that is gone
// stays unknown.
func (s *scheduling) observe(fs proc.FS, o *event.OffCPU) {
	if o.Dispatch { // advice about other threads must leave it its CPUs
		s.look(fs, o.Thread, o.Start+o.Duration)
		s.lookAgain(fs, o.Thread, o.Start+o.Duration)
	}
	if o.RunQueue < minWait || len(o.Culprits) == 0 {
		return
	}
	s.look(fs, o.Thread, o.Start+o.Duration)
	for i := range o.Culprits {
		s.look(fs, o.Culprits[i].Thread, o.Start+o.Duration)
	}
}

// lookAgain tells if the affinity of a thread that makes calls is another one than a second ago.
func (s *scheduling) lookAgain(fs proc.FS, t event.Thread, at uint64) {
	v := s.known[t]
	if v.CPUs == "" || at < v.at+lookAgain {
		return
	}
	v.at = at
	if now, err := fs.Affinity(int(t.PID), int(t.TID)); err == nil && now != v.CPUs {
		v.Before, v.CPUs, v.Changed = v.CPUs, now, at
		s.fresh = append(s.fresh, v.Scheduling)
	}
	s.known[t] = v
}

func (s *scheduling) look(fs proc.FS, t event.Thread, at uint64) {
	if _, ok := s.known[t]; ok || t.TID == 0 {
		return
	}
	if len(s.known) >= maxScheduled {
		clear(s.known)
	}
	p, err := fs.Scheduling(int(t.PID), int(t.TID))
	if err != nil {
		s.known[t] = seenScheduling{} // do not look it up again
		return
	}
	v := store.Scheduling{Thread: t, Policy: store.Policy(p.Policy), Nice: int8(p.Nice), Realtime: uint8(p.Realtime)}
	v.CPUs, _ = fs.Affinity(int(t.PID), int(t.TID)) // on an error, the other fields are still useful
	s.known[t] = seenScheduling{v, at}
	s.fresh = append(s.fresh, v)
}
