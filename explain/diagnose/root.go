package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// root is the root of a wait for another thread.
type root struct {
	kind      string
	explained uint64        // ns of the wait in which the last link is recorded in the kind's state
	freed     uint64        // ns of the wait saved without the cause; more than explained if a lock's holder also ran
	reach     float64       // share of the wait in which the middle links waited for the last one
	chain     []ledger.Link // waiter first
	answer    bool          // it was a wait for the answer of a process that works for the waiter
	between   bool          // the wait was between calls
	turn      bool          // the waiter had handed its work to the next thread of the chain
	newborn   bool          // it was for a process of its own that had just begun
	held      *event.OffCPU // the wait of the other end meanwhile: TCP held back what was written; nil: it did not
}

// last returns the link at the root.
func (r *root) last() *ledger.Link { return &r.chain[len(r.chain)-1] }

// sends reports whether a thread waited for room: for somebody to read what it writes.
func (hs *hostState) sends(o *event.OffCPU) bool {
	return (o.Class == event.Pipe || o.Class == event.Network) && hs.sending[o.Syscall]
}

// follows reports whether a wait is followed to the thread that ended it: one for another thread, or a poll that a
// worker of the same program ended. A poll waits for any of several events, but data loaders poll for their workers
// alone: they want to see now and then whether these still live.
func (ps *processes) follows(o *event.OffCPU) bool {
	return ledger.Follows(o) || o.Class == event.Poll && o.Waker.PID != 0 && o.Waker.PID != o.PID &&
		o.WakerSyscall >= 0 && ps.feeds(o.Waker.PID, o.PID)
}

// followable reports whether waits of a class that are followed are for what another thread sends or releases.
func followable(c event.Class) bool { return ledger.Followable(c) || c == event.Poll }

// half is the least share of a wait for a state to be its root.
const half = 0.5

// root follows a wait for another thread. Between calls, a wait on a futex, pipe or socket whose last thread sleeps,
// polls or is not in the recording is a wait for work, unless the thread waited for room. Inside a call the reason of
// such a wait is unknown.
func (ev *evidence) root(o *event.OffCPU, gap bool) root {
	r := root{kind: event.CauseUnknown, chain: ev.procs.x.Follow(o), between: gap, reach: 1}
	if serving(o) && gap && !ev.host.sends(o) {
		r.chain = r.chain[:1] // what the client did meanwhile does not matter
	}
	resent := ev.host.resent(o)
	r.held = ev.host.heldBack(o)
	if resent || r.held != nil {
		r.chain = r.chain[:1] // what the other end did then does not matter
	}
	blocked := float64(r.chain[0].To - r.chain[0].From)
	if len(r.chain) == 1 {
		switch {
		case resent, r.held != nil, asked(o):
			r.kind, r.explained, r.freed = event.CauseNetworkWait, uint64(blocked), uint64(blocked)
		case gap && o.Holder == 0 && followable(o.Class) && !ev.host.sends(o):
			r.kind, r.explained, r.freed = idleKind, uint64(blocked), uint64(blocked)
		}
		return r
	}
	for i := 1; i < len(r.chain)-1; i++ {
		l := &r.chain[i]
		r.reach *= share(l.Through, l.Split.Wall)
	}
	kind, shown, freed := ev.state(r.last(), r.chain[len(r.chain)-2].Wait, o, gap)
	if c := causeOf(kind); c.passedOn != "" && r.last().Proof != ledger.ByHolder && ev.procs.supplies(&r, o) {
		kind = c.passedOn
	}
	if r.turn = gap && ev.procs.turn(o, &r.chain[1]); r.turn {
		kind = idleKind
	}
	r.answer = ev.answers(o, &r.chain[1])
	r.newborn = ev.procs.newborn(r.last().Thread.PID, o)
	if c := causeOf(kind); c.answered != "" && r.answer {
		kind = c.answered
	}
	r.kind, r.explained, r.freed = kind, uint64(blocked*r.reach*shown), uint64(blocked*r.reach*freed)
	return r
}

// state classifies the last link of the chain of o; before is the wait that this link's thread
// ended. It returns the kind of cause, the share of the link's time that shows it, and the share
// that would be saved without it. The two differ for the holder of a lock: while it ran it kept the
// lock, too.
func (ev *evidence) state(l *ledger.Link, before, o *event.OffCPU, gap bool) (kind string, shown, freed float64) {
	locked := l.Proof == ledger.ByHolder
	// Kinds for a thread that slept, and for one whose time was not recorded.
	resting, released := event.CauseUnknown, event.CauseUnknown
	switch {
	case (asked(before) || ev.answers(before, l)) && bySending(l):
		resting, released = event.CausePeerWait, event.CausePeerWait
	case !followable(before.Class) || ev.host.sends(before):
		resting, released = ofOther(before, l), ofOther(before, l)
	case gap:
		resting = idleKind
		if bySending(l) {
			released = idleKind
		}
	case byFutex(l):
		resting, released = event.CauseLockContention, event.CauseLockContention
	}
	if locked {
		resting, released = event.CauseLockContention, event.CauseLockContention
	}
	if !l.Known {
		return released, 1, 1
	}
	sp, wall := &l.Split, l.Split.Wall
	io := ioTime(l)
	running := sp.OnCPU - min(sp.OnCPU, io-min(io, sp.NS[event.BlockIO]))
	busy := running // time of any work, ns
	for _, c := range linkCauses {
		ns := c.inLink(ev, l)
		if p := share(ns, wall); p >= half {
			freed := p
			if locked {
				freed = min(1, p+share(running, wall))
			}
			return c.kind, p, freed
		}
		busy += ns
	}
	if locked {
		return event.CauseLockContention, 1, 1
	}
	if p := share(busy, wall); p >= half {
		switch {
		case byFutex(l):
			return event.CauseLockContention, 1, 1
		case !followable(before.Class) || ev.host.sends(before):
			return ofOther(before, l), p, p
		case ev.procs.startedFor(l.Thread.PID, o):
			return event.CausePeerWait, p, p
		case ev.procs.feeds(l.Thread.PID, o.PID):
			return event.CauseInputStarvation, p, p
		}
		return event.CausePeerWait, p, p
	}
	return resting, 1, 1
}

// ofOther is the kind of a wait that the kernel ended because of what another thread did: one of the same process had a
// lock.
func ofOther(before *event.OffCPU, l *ledger.Link) string {
	if l.Thread.PID == before.PID {
		return event.CauseLockContention
	}
	return event.CausePeerWait
}

// byFutex reports whether a link's thread released what the thread before it waited for; bySending,
// whether it sent something to that thread.
func byFutex(l *ledger.Link) bool   { return l.Proof == ledger.ByFutex || l.Proof == ledger.ByHabit }
func bySending(l *ledger.Link) bool { return l.Proof == ledger.ByWake || l.Proof == ledger.ByPeer }

// askGap is how long before a wait for an answer the thread may have sent the question, ns: the
// question wakes the thread that answers.
const askGap = 1_000_000

// minAnswers is the least share of waits for a process that are known to be for answers, for all of
// them to count as such: not every wait for a question is recorded.
const minAnswers = 0.25

// settle gives all waits of a thread for another one the kind of most of them: waits for answers of
// a process that works for it, or turns.
func (ps *processes) settle(t *subject) {
	ps.settleTurns(t)
	ps.settleHostFuncs(t)
	asked, waits := map[uint32]uint64{}, map[uint32]uint64{}
	for _, r := range t.waits {
		if len(r.chain) > 1 && (causeOf(r.kind).fromWorker || r.answer) {
			tid := r.chain[1].Thread.TID
			waits[tid]++
			if r.answer {
				asked[tid]++
			}
		}
	}
	for o, r := range t.waits {
		c := causeOf(r.kind)
		if !c.fromWorker || len(r.chain) < 2 || r.chain[1].Thread.PID == t.PID {
			continue
		}
		if tid := r.chain[1].Thread.TID; share(asked[tid], waits[tid]) >= minAnswers {
			r.kind = c.answered
			t.waits[o] = r
		}
	}
}

// receives reports whether a thread waited to receive something, and not, like a data worker that
// is ahead, for room to write.
func (hs *hostState) receives(o *event.OffCPU) bool {
	return ledger.Followable(o.Class) && hs.receiving[o.Syscall]
}

// answers reports whether a thread waited for the answer of a process that works for it: that
// process had waited until the question came, and had not prepared the data on its own, as data
// workers do. Between two processes that send to each other in turn, this does not tell which one
// is the server; so it must be a descendant.
func (ev *evidence) answers(o *event.OffCPU, l *ledger.Link) bool {
	if !bySending(l) || l.Thread.PID == o.PID || !ev.procs.feeds(l.Thread.PID, o.PID) {
		return false
	}
	from, to := o.Start-min(o.Start, askGap), o.Start+askGap
	for _, w := range ev.procs.x.Overlapping(l.Thread.TID, from, to) {
		if _, e := ledger.Blocked(w); ev.host.receives(w) && w.Waker.TID == o.TID && e >= from && e < to {
			return true
		}
	}
	return false
}

// startedFor reports whether a process was started by that of a waiting thread, or a descendant, just before the wait,
// and ended with it: it is no worker that prepares something in advance.
func (ps *processes) startedFor(pid uint32, o *event.OffCPU) bool {
	from, to, until := ps.born[pid], ps.exited[pid], o.Start+o.Duration
	return from != 0 && from+childSlack >= o.Start && from < until && to >= o.Start && to <= until+childSlack &&
		pid != o.PID && ps.feeds(pid, o.PID)
}

// justBegun is how long after its start a process may not have made anything yet, ns.
const justBegun = 1_000_000_000

// newborn reports whether a process of the same program had just begun when a wait began, or began in it.
func (ps *processes) newborn(pid uint32, o *event.OffCPU) bool {
	from := ps.born[pid]
	return from != 0 && from+justBegun >= o.Start && from < o.Start+o.Duration && pid != o.PID && ps.feeds(pid, o.PID)
}

// feeds reports whether a process works for another one: it is the same one or a descendant, as
// data workers are.
func (ps *processes) feeds(worker, owner uint32) bool {
	if worker == owner {
		return true
	}
	for range ledger.MaxDepth {
		switch worker = ps.parents[worker]; worker {
		case owner:
			return true
		case 0:
			return false
		}
	}
	return false
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
