package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// Input comes through several hands: PyTorch's training loop waits for the thread that
// pins memory, that one for a thread of a data worker which passes batches on, and that
// one for the worker itself. They hand over by queues and conditions, whose waits look
// like waits for a lock.

// minReceived is how many waits for data workers make a thread one that takes in what
// they send.
const minReceived = 3

// supplies reports whether the last thread of a chain makes or passes on input, and does
// not hold a lock: it is of a data worker that was reached by what it sends, or takes in
// what data workers send.
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

// readReceivers finds the threads that take in what data workers send: they wait for
// descendants of their process and give the GPU no work.
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

// joinOthers makes one cause of what the threads of another process that a thread waits for
// are the root of: a server may have a thread for each request, and a data worker passes on
// in one what it makes in another. The one that most time was lost to is named.
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

// handsOver reports whether a thread gives work to the GPU or waits for it. What another
// one loses between its calls costs the GPU only as far as such a thread waits for it,
// and is found there.
func (ps *processes) handsOver(t event.Thread) bool { return ps.workers[t] || !ps.working[t.PID] }

func isWork(r event.Role) bool {
	switch r {
	case event.RoleLaunch, event.RoleSync, event.RoleCopy, event.RoleCollective:
		return true
	}
	return false
}
