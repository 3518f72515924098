package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// The thread that enters collectives may be handed its work: PyTorch's backward pass, with
// its all-reduce, runs on a thread of its own, which waits until the main thread begins it.
// What that one did meanwhile is why the rank is late.

// part is a piece of time of one thread.
type part struct {
	event.Thread
	cluster.Interval
	sync bool // in a call that waits for collectives
}

// blocked is how much of an interval's wait is in the part, ns.
func (p *part) blocked(o *event.OffCPU) uint64 {
	from, to := ledger.Blocked(o)
	from, to = max(from, p.From), min(to, p.To)
	return to - min(from, to)
}

// parts are what a thread's time comes down to: its own, and, while it waited to be handed
// work, that of the thread that handed it over, which gives the GPU work, too. A thread of
// which that is not so, and which ended a wait, held a lock.
func (ev *evidence) parts(t event.Thread, when cluster.Interval) (list []part) {
	at := when.From
	rows := ev.procs.x.Overlapping(t.TID, when.From, when.To)
	for i, o := range rows {
		by, ok := ev.procs.handed(renewed(rows, i))
		from, to := ledger.Blocked(o)
		from, to = max(from, at), min(to, when.To)
		if !ok || from >= to || !ev.procs.x.Accounted(by.TID) {
			continue
		}
		list = ev.ranks.split(list, t, cluster.Interval{From: at, To: from})
		list = ev.ranks.split(list, by, cluster.Interval{From: from, To: to})
		at = to
	}
	return ev.ranks.split(list, t, cluster.Interval{From: at, To: when.To})
}

// split adds a thread's time, cut where it began and ended to wait for collectives: not all
// such waits are listed one by one.
func (rs *rankWork) split(list []part, t event.Thread, when cluster.Interval) []part {
	waits := rs.collectiveOps.Waiting(t)
	n, _ := slices.BinarySearchFunc(waits, when.From,
		func(w cluster.Interval, at uint64) int { return cmp.Compare(w.To, at) })
	for ; n < len(waits) && waits[n].From < when.To; n++ {
		from, to := max(waits[n].From, when.From), min(waits[n].To, when.To)
		if from >= to {
			continue
		}
		if when.From < from {
			list = append(list, part{t, cluster.Interval{From: when.From, To: from}, false})
		}
		list = append(list, part{t, cluster.Interval{From: from, To: to}, true})
		when.From = to
	}
	if when.From < when.To {
		list = append(list, part{t, when, false})
	}
	return list
}

// handed is the thread that handed over what another one waited for.
func (ps *processes) handed(o *event.OffCPU) (by event.Thread, ok bool) {
	if o.Class != event.Futex || !ps.launchers[o.Thread] {
		return by, false
	}
	tid, proof, ok := ps.x.Behind(o)
	if !ok || proof == ledger.ByHolder {
		return by, false
	}
	by, _, ok = ps.x.Thread(tid)
	return by, ok && by.PID == o.PID && ps.launchers[by]
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
