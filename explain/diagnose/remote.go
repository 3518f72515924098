package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// remoteThread is a thread of another machine, as the evidence of one machine has it: under a number that is
// no thread's here, because its own may be.
type remoteThread struct {
	event.Thread           // its own
	at           *evidence // its machine
	ahead        int64     // of its clock against this machine's, ns
}

// firstRemote is above any process id that the kernel gives out (PID_MAX_LIMIT is 1<<22).
const firstRemote = 1 << 30

// linkMachines makes several machines' evidence hold each other's collective operations.
func linkMachines(machines []*evidence) {
	for _, ev := range machines {
		ev.matchRunning()
	}
	for _, ev := range machines {
		for _, other := range machines {
			if other != ev {
				ev.importCollectives(other)
			}
		}
		ev.linkCollectives()
	}
}

// linkCollectives puts together what ranks of this machine and of others did together.
func (ev *evidence) linkCollectives() {
	limits := cluster.Limits{Stall: uint64(minStall), Beginning: uint64(beginning)}
	ev.collectiveOps = cluster.Link(limits, ev.collectives, ev.remoteCollectives)
}

// importCollectives adds another machine's part in the operations that this one has a part in.
func (ev *evidence) importCollectives(other *evidence) {
	ahead, ok := cluster.Ahead(other.collectives, ev.collectives)
	if !ok {
		return
	}
	numbers := map[event.Thread]uint32{}
	number := func(t event.Thread) uint32 {
		n := numbers[t]
		if n == 0 {
			n = firstRemote + uint32(len(ev.remoteThreads))
			numbers[t] = n
			ev.remoteThreads[n] = remoteThread{t, other, ahead}
		}
		return n
	}
	for i := range other.collectives {
		c := other.collectives[i]
		n := number(c.Thread)
		c.Thread = event.Thread{PID: n, TID: n}
		c.At = cluster.Moved(c.At, -ahead)
		c.SyncOp = 0 // its waits are its own machine's business
		ev.remoteCollectives = append(ev.remoteCollectives, c)
	}
}

// resolveThread is on which machine a known thread runs, and its ids there.
func (ev *evidence) resolveThread(t event.Thread) (*evidence, event.Thread) {
	if f, ok := ev.remoteThreads[t.PID]; ok {
		return f.at, f.Thread
	}
	return ev, t
}

// threadLabel is who for threads of other machines, too.
func (ev *evidence) threadLabel(t event.Thread, from uint32) string {
	at, own := ev.resolveThread(t)
	if at == ev {
		return ev.who(t, from)
	}
	return at.who(own, 0) + " on " + at.in.Node
}

// machineOf is the name of the machine that other evidence is of, empty for this one.
func (ev *evidence) machineOf(at *evidence) string {
	if at == ev {
		return ""
	}
	return at.in.Node
}
