package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// remoteThread is a thread of another machine. In this machine's evidence it has an id that no
// local thread has, because its own id may be taken here.
type remoteThread struct {
	event.Thread           // its ids on its own machine
	at           *evidence // its machine
	ahead        int64     // how far its clock is ahead of this machine's, ns
}

// firstRemote is above any PID that the kernel gives out (PID_MAX_LIMIT is 1<<22).
const firstRemote = 1 << 30

// linkMachines adds to each machine's evidence the collective operations of the others.
func linkMachines(machines []*evidence) {
	for _, ev := range machines {
		ev.matchRunning()
	}
	for _, ev := range machines {
		for _, other := range machines {
			if other != ev {
				ev.ranks.importCollectives(other)
			}
		}
		ev.ranks.linkCollectives()
	}
}

// linkCollectives joins the parts of ranks of this machine and of others into collective
// operations.
func (rs *rankWork) linkCollectives() {
	limits := cluster.Limits{Stall: uint64(minStall), Beginning: uint64(beginning)}
	rs.collectiveOps = cluster.Link(limits, rs.collectives, rs.remoteCollectives)
}

// importCollectives adds another machine's parts of the operations that this machine takes part in.
func (rs *rankWork) importCollectives(other *evidence) {
	ahead, ok := cluster.Ahead(other.ranks.collectives, rs.collectives)
	if !ok {
		return
	}
	numbers := map[event.Thread]uint32{}
	number := func(t event.Thread) uint32 {
		n := numbers[t]
		if n == 0 {
			n = firstRemote + uint32(len(rs.remoteThreads))
			numbers[t] = n
			rs.remoteThreads[n] = remoteThread{t, other, ahead}
		}
		return n
	}
	for i := range other.ranks.collectives {
		c := other.ranks.collectives[i]
		n := number(c.Thread)
		c.Thread = event.Thread{PID: n, TID: n}
		c.At = cluster.Moved(c.At, -ahead)
		c.SyncOp = 0 // its waits are diagnosed on its own machine
		rs.remoteCollectives = append(rs.remoteCollectives, c)
	}
}

// resolveThread returns the machine on which a thread runs, and its ids there.
func (ev *evidence) resolveThread(t event.Thread) (*evidence, event.Thread) {
	if f, ok := ev.ranks.remoteThreads[t.PID]; ok {
		return f.at, f.Thread
	}
	return ev, t
}

// threadLabel does what who does, for threads of other machines, too.
func (ev *evidence) threadLabel(t event.Thread, from uint32) string {
	at, own := ev.resolveThread(t)
	if at == ev {
		return ev.procs.who(t, from)
	}
	return at.procs.who(own, 0) + " on " + at.in.Node
}

// machineOf returns the name of another evidence's machine, empty for this one.
func (ev *evidence) machineOf(at *evidence) string {
	if at == ev {
		return ""
	}
	return at.in.Node
}
