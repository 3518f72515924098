package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
)

// The thread that enters collectives may be handed its work: PyTorch's backward pass, with
// its all-reduce, runs on a thread of its own, which waits until the main thread begins it.
// What that one did meanwhile is why the rank is late.

// part is a piece of time of one thread.
type part struct {
	event.Thread
	interval
	sync bool // in a call that waits for collectives
}

// blocked is how much of an interval's wait is in the part, ns.
func (p *part) blocked(o *event.OffCPU) uint64 {
	from, to := ledger.Blocked(o)
	from, to = max(from, p.from), min(to, p.to)
	return to - min(from, to)
}

// parts are what a thread's time comes down to: its own, and, while it waited to be handed
// work, that of the thread that handed it over, which gives the GPU work, too. A thread of
// which that is not so, and which ended a wait, held a lock.
func (ev *evidence) parts(t event.Thread, when interval) (list []part) {
	at := when.from
	rows := ev.x.Overlapping(t.TID, when.from, when.to)
	for i, o := range rows {
		by, ok := ev.handed(renewed(rows, i))
		from, to := ledger.Blocked(o)
		from, to = max(from, at), min(to, when.to)
		if !ok || from >= to || !ev.x.Accounted(by.TID) {
			continue
		}
		list = ev.collectiveOps.split(list, t, interval{at, from})
		list = ev.collectiveOps.split(list, by, interval{from, to})
		at = to
	}
	return ev.collectiveOps.split(list, t, interval{at, when.to})
}

// split adds a thread's time, cut where it began and ended to wait for collectives: not all
// such waits are listed one by one.
func (m *collectiveOps) split(list []part, t event.Thread, when interval) []part {
	waits := m.waits[t]
	n, _ := slices.BinarySearchFunc(waits, when.from, func(w interval, at uint64) int { return cmp.Compare(w.to, at) })
	for ; n < len(waits) && waits[n].from < when.to; n++ {
		from, to := max(waits[n].from, when.from), min(waits[n].to, when.to)
		if from >= to {
			continue
		}
		if when.from < from {
			list = append(list, part{t, interval{when.from, from}, false})
		}
		list = append(list, part{t, interval{from, to}, true})
		when.from = to
	}
	if when.from < when.to {
		list = append(list, part{t, when, false})
	}
	return list
}

// handed is the thread that handed over what another one waited for.
func (ev *evidence) handed(o *event.OffCPU) (by event.Thread, ok bool) {
	if o.Class != event.Futex || !ev.launchers[o.Thread] {
		return by, false
	}
	tid, proof, ok := ev.x.Behind(o)
	if !ok || proof == ledger.ByHolder {
		return by, false
	}
	by, _, ok = ev.x.Thread(tid)
	return by, ok && by.PID == o.PID && ev.launchers[by]
}

// thread is that of a late rank's threads which spent most time as the reason says.
func (r *reason) thread(f *finding) event.Thread {
	_, most := r.at.resolveThread(f.Thread)
	var ns uint64
	for t, split := range r.by {
		v := split.Of(r.class)
		if v > ns || v == ns && v > 0 && cmp.Or(cmp.Compare(t.PID, most.PID), cmp.Compare(t.TID, most.TID)) < 0 {
			most, ns = t, v
		}
	}
	return most
}
