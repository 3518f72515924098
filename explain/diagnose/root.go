package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// root is what a wait for another thread comes down to.
type root struct {
	kind      string
	explained uint64        // of the wait, ns in which the last link is on record in the kind's state
	freed     uint64        // of the wait, ns that end with the cause: a lock's holder also ran beside its wait
	reach     float64       // share of the wait in which the middle links waited for the last one
	chain     []ledger.Link // waiter first
	answer    bool          // it was the answer of a process that works for the waiter
	between   bool          // the wait was between calls
	turn      bool          // the waiter had handed its work to the next thread of the chain
}

// last is the link at the root.
func (r *root) last() *ledger.Link { return &r.chain[len(r.chain)-1] }

// half is the share of a wait from which a state is its root.
const half = 0.5

// root follows a wait on a futex, pipe or socket. Between calls a wait that ends
// in somebody who sleeps, polls or lives outside is a wait for work; inside a
// call it is not known what it is.
func (ev *evidence) root(o *event.OffCPU, gap bool) root {
	r := root{kind: Unknown, chain: ev.procs.x.Follow(o), between: gap, reach: 1}
	if serving(o) && gap {
		r.chain = r.chain[:1] // whatever the client did meanwhile
	}
	resent := ev.host.resent(o)
	if resent {
		r.chain = r.chain[:1] // whatever the other end did then
	}
	blocked := float64(r.chain[0].To - r.chain[0].From)
	if len(r.chain) == 1 {
		switch {
		case resent, asked(o):
			r.kind, r.explained, r.freed = NetworkWait, uint64(blocked), uint64(blocked)
		case gap && o.Holder == 0:
			r.kind, r.explained, r.freed = idleKind, uint64(blocked), uint64(blocked)
		}
		return r
	}
	for i := 1; i < len(r.chain)-1; i++ {
		l := &r.chain[i]
		r.reach *= share(l.Split.Of(l.Wait.Class), l.Split.Wall)
	}
	kind, shown, freed := ev.state(r.last(), r.chain[len(r.chain)-2].Wait, o, gap)
	if c := causeOf(kind); c.passedOn != "" && r.last().Proof != ledger.ByHolder && ev.procs.supplies(&r, o) {
		kind = c.passedOn
	}
	if r.turn = gap && ev.procs.turn(o, &r.chain[1]); r.turn {
		kind = idleKind
	}
	r.answer = ev.answers(o, &r.chain[1])
	if c := causeOf(kind); c.answered != "" && r.answer {
		kind = c.answered
	}
	r.kind, r.explained, r.freed = kind, uint64(blocked*r.reach*shown), uint64(blocked*r.reach*freed)
	return r
}

// state classifies the last link of the chain of o; before is the wait that it ended. It
// returns the kind of cause, the share of the link's span that shows it, and the share that
// would end with it. The two differ for the holder of a lock: what it ran beside its wait
// kept the lock as well.
func (ev *evidence) state(l *ledger.Link, before, o *event.OffCPU, gap bool) (kind string, shown, freed float64) {
	locked := l.Proof == ledger.ByHolder
	resting, released := Unknown, Unknown // for a sleeper; for a waker not accounted for
	switch {
	case asked(before) && bySending(l):
		resting, released = PeerWait, PeerWait
	case gap:
		resting = idleKind
		if bySending(l) {
			released = idleKind
		}
	case byFutex(l):
		resting, released = LockContention, LockContention
	}
	if locked {
		resting, released = LockContention, LockContention
	}
	if !l.Known {
		return released, 1, 1
	}
	sp, wall := &l.Split, l.Split.Wall
	io := ioTime(l)
	running := sp.OnCPU - min(sp.OnCPU, io-min(io, sp.NS[event.BlockIO]))
	busy := running // with something, of whatever kind
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
		return LockContention, 1, 1
	}
	if p := share(busy, wall); p >= half {
		switch {
		case byFutex(l):
			return LockContention, 1, 1
		case ev.procs.feeds(l.Thread.PID, o.PID):
			return InputStarvation, p, p
		}
		return PeerWait, p, p
	}
	return resting, 1, 1
}

// byFutex reports whether a link's thread released what the one before waited for;
// bySending, whether it sent it something.
func byFutex(l *ledger.Link) bool   { return l.Proof == ledger.ByFutex || l.Proof == ledger.ByHabit }
func bySending(l *ledger.Link) bool { return l.Proof == ledger.ByWake || l.Proof == ledger.ByPeer }

// askGap is how long before it waits for an answer a thread may have asked: the
// one that answers is woken by the question.
const askGap = 1_000_000

// minAnswers is the share of the waits for a process from which they all are taken
// to be for answers: not every question's wait is recorded.
const minAnswers = 0.25

// settle makes of all waits of a thread for another one what most of them are: answers
// of a process that works for it, or the other's turn.
func (ps *processes) settle(t *subject) {
	ps.settleTurns(t)
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

// receives reports whether a thread waited for something to come: not, as a data
// worker that is ahead does, for room to write.
func (hs *hostState) receives(o *event.OffCPU) bool {
	return ledger.Followable(o.Class) && hs.receiving[o.Syscall]
}

// answers reports whether a thread waited for the answer of a process that works
// for it: that one had itself been waiting, until the question came, and not
// prepared what comes next on its own, as data workers do. Of two processes that
// speak in turn this does not tell which one serves; so it must be a descendant.
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

// feeds reports whether a process works for another: it is its child or
// grandchild, as data workers are.
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
