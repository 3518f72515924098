package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// foreign is a thread of another machine, as a scene sees it: under a number that is
// no thread's here, because its own may be.
type foreign struct {
	event.Thread        // its own
	at           *scene // its machine
	ahead        int64  // of its clock against the scene's, ns
}

// firstForeign is above any process id that the kernel gives out (PID_MAX_LIMIT is 1<<22).
const firstForeign = 1 << 30

// minAligned is from how many common operations on two clocks are compared.
const minAligned = 5

// linkMachines has the scenes of several machines know each other's collective operations.
func linkMachines(scenes []*scene) {
	for _, s := range scenes {
		s.matchRunning()
	}
	for _, s := range scenes {
		for _, o := range scenes {
			if o != s {
				s.importCollectives(o)
			}
		}
		s.readCollectives()
	}
}

// importCollectives adds another machine's part in the operations that this one has a part in.
func (s *scene) importCollectives(o *scene) {
	ahead, ok := o.ahead(s)
	if !ok {
		return
	}
	numbers := map[event.Thread]uint32{}
	number := func(t event.Thread) uint32 {
		n := numbers[t]
		if n == 0 {
			n = firstForeign + uint32(len(s.abroad))
			numbers[t] = n
			s.abroad[n] = foreign{t, o, ahead}
		}
		return n
	}
	for i := range o.collectives {
		c := o.collectives[i]
		n := number(c.Thread)
		c.Thread = event.Thread{PID: n, TID: n}
		c.At = moved(c.At, -ahead)
		c.SyncOp = 0 // its waits are its own machine's business
		s.remoteCollectives = append(s.remoteCollectives, c)
	}
}

func moved(at uint64, by int64) uint64 { return uint64(max(int64(at)+by, 0)) }

// ahead is by how much this machine's clock is ahead of another's. An operation ends
// on all ranks at about the same time, so the ends of the calls that waited for it tell.
// Clocks are not compared where too few such calls were recorded.
func (s *scene) ahead(o *scene) (ns int64, ok bool) {
	theirs := o.ends()
	var d []int64
	for k, at := range s.ends() {
		if t, ok := theirs[k]; ok {
			d = append(d, int64(at)-int64(t))
		}
	}
	if len(d) < minAligned {
		return 0, false
	}
	slices.Sort(d)
	return d[len(d)/2], true
}

// ends is when the first wait for each operation was over that began before that.
func (s *scene) ends() map[meetingKey]uint64 {
	list := map[meetingKey]uint64{}
	for i := range s.collectives {
		c := &s.collectives[i]
		if !matched(c) || c.SyncOp == 0 {
			continue
		}
		k := keyOf(c)
		k.from, k.to = max(k.from, k.to), min(k.from, k.to)
		if at := list[k]; at == 0 || c.SyncEnd < at {
			list[k] = c.SyncEnd
		}
	}
	return list
}

// resolveThread is where a thread runs that a scene knows, and its own ids.
func (s *scene) resolveThread(t event.Thread) (*scene, event.Thread) {
	if f, ok := s.abroad[t.PID]; ok {
		return f.at, f.Thread
	}
	return s, t
}

// threadLabel is who for threads of other machines, too.
func (s *scene) threadLabel(t event.Thread, from uint32) string {
	at, own := s.resolveThread(t)
	if at == s {
		return s.who(t, from)
	}
	return at.who(own, 0) + " on " + at.in.Node
}

// machineOf is the name of another machine that a scene is of, empty for the scene's own.
func (s *scene) machineOf(at *scene) string {
	if at == s {
		return ""
	}
	return at.in.Node
}
