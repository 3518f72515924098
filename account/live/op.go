package live

import "github.com/ingero-io/ingero/event"

// OpKey is an operation of a process.
type OpKey struct {
	PID uint32
	Op  event.Op
}

// OpTime is where the time of an operation's calls went, over the whole run.
type OpTime struct {
	NS    uint64 // of all calls
	Class [event.NumClasses]uint64
}

// OnCPU is what is left after the waits, ns.
func (o *OpTime) OnCPU() uint64 {
	l := event.Ledger{NS: o.Class}
	return o.NS - min(l.Total(), o.NS)
}

// opSums has the time of each operation of each process. It is on the path of every call. How
// many calls there were and how long they took is not counted here: the agent's meter does, as it
// sets limits by it, and tells it in agent.Status.
type opSums struct {
	procs map[uint32]*opProc
	last  *opProc
}

type opProc struct {
	pid uint32
	ops [event.OpSlots]*OpTime // by event.Op
}

func newOpSums() opSums { return opSums{procs: map[uint32]*opProc{}} }

func (s *opSums) calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		if s.last == nil || s.last.pid != c.PID {
			s.last = s.procs[c.PID]
			if s.last == nil {
				s.last = &opProc{pid: c.PID}
				s.procs[c.PID] = s.last
			}
		}
		o := s.last.ops[c.Op.Slot()]
		if o == nil {
			o = new(OpTime)
			s.last.ops[c.Op.Slot()] = o
		}
		o.NS += c.Duration
		if c.Ledger.IsZero() {
			continue
		}
		for k, ns := range c.Ledger.NS {
			o.Class[k] += ns
		}
	}
}

func (s *opSums) forget(pid uint32) {
	delete(s.procs, pid)
	s.last = nil
}

func (s *opSums) picture() map[OpKey]OpTime {
	m := map[OpKey]OpTime{}
	for pid, p := range s.procs {
		for op, o := range p.ops {
			if o != nil {
				m[OpKey{pid, event.Op(op)}] = *o
			}
		}
	}
	return m
}
