package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// Input may pass through several threads. PyTorch's training loop waits for the thread that pins
// memory; that one waits for the thread of a data worker that passes batches on; and that one waits
// for the worker itself. They use queues and condition variables, whose waits look like waits for a
// lock.

// minReceived is the least number of waits for data workers of a thread that receives from them.
const minReceived = 3

// supplies reports whether the last thread of a chain makes or passes on input, and does not hold a
// lock: it belongs to a data worker that ended the wait by sending something, or it receives from
// data workers.
func (ps *processes) supplies(r *root, o *event.OffCPU) bool {
	last := r.last()
	if last.Thread.PID == o.PID {
		return last.Proof != ledger.ByHabit && ps.receivers[last.Thread]
	}
	for i := 1; i < len(r.chain); i++ {
		if l := &r.chain[i]; l.Thread.PID == last.Thread.PID {
			return bySending(l) && ps.feeds(l.Thread.PID, o.PID)
		}
	}
	return false
}

// readReceivers finds the threads that receive from data workers: they wait for descendants of
// their process and launch no GPU work.
func (ev *evidence) readReceivers() {
	ev.procs.receivers = map[event.Thread]bool{}
	from := map[event.Thread]int{}
	for i := range ev.in.OffCPU {
		o := &ev.in.OffCPU[i]
		if o.Waker.PID != 0 && o.Waker.PID != o.PID && !ev.procs.launchers[o.Thread] && ev.host.receives(o) &&
			ev.procs.feeds(o.Waker.PID, o.PID) {
			from[o.Thread]++
		}
	}
	for t, n := range from {
		if n >= minReceived {
			ev.procs.receivers[t] = true
		}
	}
}

// joinOthers joins the claims whose roots are threads of the same other process: a server may have
// a thread for each request, and a data worker passes on in one thread what it makes in another.
// The thread that most time was lost to is named.
func joinOthers(t *subject, claims []claim) {
	lost := map[key]uint64{}
	most := map[key]event.Thread{} // by kind and process
	whole := func(k key) key { k.TID = 0; return k }
	joins := func(k key) bool {
		return k.PID != 0 && k.PID != t.PID && causeOf(k.kind).joinsThreads
	}
	for i := range claims {
		if cl := &claims[i]; joins(cl.key) {
			lost[cl.key] += cl.lost
			if best, ok := most[whole(cl.key)]; !ok || lost[cl.key] > lost[key{cl.key.kind, best, cl.key.loading}] {
				most[whole(cl.key)] = cl.key.Thread
			}
		}
	}
	for i := range claims {
		if cl := &claims[i]; joins(cl.key) {
			cl.key.Thread = most[whole(cl.key)]
		}
	}
}

// handsOver reports whether a thread launches GPU work or waits for it. What other threads lose
// between calls costs the GPU only as far as such a thread waits for them, and is found there.
func (ps *processes) handsOver(t event.Thread) bool { return ps.workers[t] || !ps.working[t.PID] }

func isWork(r event.Role) bool {
	switch r {
	case event.RoleLaunch, event.RoleSync, event.RoleCopy, event.RoleCollective:
		return true
	}
	return false
}
