package live

import "github.com/ingero-io/ingero/event"

// OpKey is an operation of a process.
type OpKey struct {
	PID uint32
	Op  event.Op
}

// OpTime is how the time of an operation's calls was spent, over the whole run.
type OpTime struct {
	NS    uint64 // of all calls
	Class [event.NumClasses]uint64
}

// OnCPU returns the rest, without the waits, ns.
func (o *OpTime) OnCPU() uint64 {
	l := event.Ledger{NS: o.Class}
	return o.NS - min(l.Total(), o.NS)
}

// opSums has the time of each operation of each process. It is updated with every call. The agent's meter counts
// calls and their durations, which it needs for its limits and reports in agent.Status.
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
