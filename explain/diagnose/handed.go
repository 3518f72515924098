package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// The thread that enters collectives may get its work from another thread: PyTorch's backward pass,
// with its all-reduce, runs on its own thread, which waits until the main thread starts it. Then
// what the main thread did meanwhile is why the rank is late.

// part is an interval of one thread's time.
type part struct {
	event.Thread
	cluster.Interval
	sync bool // in a call that waits for collectives
}

// blocked returns how much of a wait is within the part, ns.
func (p *part) blocked(o *event.OffCPU) uint64 {
	from, to := ledger.Blocked(o)
	from, to = max(from, p.From), min(to, p.To)
	return to - min(from, to)
}

// parts splits a thread's time. While the thread waited for another one to give it work, the time
// of that other thread counts instead, if that one also launches GPU work. Any other thread that
// ended a wait is taken to have held a lock.
func (ev *evidence) parts(t event.Thread, when cluster.Interval) (list []part) {
	at := when.From
	rows := ev.procs.x.Overlapping(t.TID, when.From, when.To)
	for _, o := range rows {
		by, ok := ev.procs.handed(o)
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

// split adds a thread's time, cut where its waits for collectives begin and end: not all such waits
// are recorded one by one.
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

// handed returns the thread that gave another thread the work it waited for.
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

// thread returns the late rank's thread that spent most time in the class of the reason.
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
