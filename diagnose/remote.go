package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
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

// minAligned is from how many common operations on two clocks are compared.
const minAligned = 5

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
		ev.readCollectives()
	}
}

// importCollectives adds another machine's part in the operations that this one has a part in.
func (ev *evidence) importCollectives(other *evidence) {
	ahead, ok := other.ahead(ev)
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
		c.At = moved(c.At, -ahead)
		c.SyncOp = 0 // its waits are its own machine's business
		ev.remoteCollectives = append(ev.remoteCollectives, c)
	}
}

func moved(at uint64, by int64) uint64 { return uint64(max(int64(at)+by, 0)) }

// ahead is by how much this machine's clock is ahead of another's. An operation ends
// on all ranks at about the same time, so the ends of the calls that waited for it tell.
// Clocks are not compared where too few such calls were recorded.
func (ev *evidence) ahead(other *evidence) (ns int64, ok bool) {
	theirs := other.ends()
	var d []int64
	for k, at := range ev.ends() {
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
func (ev *evidence) ends() map[collectiveKey]uint64 {
	list := map[collectiveKey]uint64{}
	for i := range ev.collectives {
		c := &ev.collectives[i]
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
