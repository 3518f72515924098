package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// Threads of one program may take turns: PyTorch's main thread starts the backward pass on its
// autograd thread and waits until it is done. What the autograd thread does then is the main
// thread's work, and its delays are found there: the wait is not for a lock.

// sameObject is the largest distance between two futexes of one lock or condition variable, bytes:
// those of a glibc condition variable are within its 48 bytes.
const sameObject = 64

// turn reports whether a thread waited between its calls for the link's thread, to which it had
// given its work: that thread launches GPU work too, had been waiting itself, and was woken by the
// waiter, through another futex than the one that ended the wait. Two threads that contend for a
// lock wait on the same futex.
func (ps *processes) turn(o *event.OffCPU, l *ledger.Link) bool {
	if !byFutex(l) || o.Holder != 0 || l.Thread.PID != o.PID || !ps.launchers[l.Thread] {
		return false
	}
	from, to := o.Start-min(o.Start, askGap), o.Start+askGap
	for _, w := range ps.x.Overlapping(l.Thread.TID, from, to) {
		_, e := ledger.Blocked(w)
		if w.Class == event.Futex && w.Waker.TID == o.TID && e >= from && e < to && distance(w.Futex, o.Futex) > sameObject {
			return true
		}
	}
	return ps.signalled(o, l.Thread)
}

// futexWaits are a thread's recorded waits, by futex.
type futexWaits map[uint64]*futexWait

// futexWait is how often a thread waited on a futex, and who ended these waits.
type futexWait struct {
	times int
	by    map[event.Thread]int
}

// minSignals is the least number of waits on each of a condition variable's futexes to know it, and signalledShare the
// least share of them that one thread ends if it hands over work: waits for an interpreter's lock end by themselves now
// and then.
const (
	minSignals     = 8
	signalledShare = 0.9
)

// signalled reports whether a thread waited on a condition variable that the other one signals, and on which that one
// does not wait itself, as far as recorded: it hands over work. glibc's condition variables have two futexes side by
// side, on which threads wait in turn; locks have one.
func (ps *processes) signalled(o *event.OffCPU, by event.Thread) bool {
	const twin = 4 // bytes
	own := ps.waitsOn(o.Thread)
	a, b := own[o.Futex], own[o.Futex^twin]
	if a == nil || b == nil || min(a.times, b.times) < minSignals || max(a.times, b.times) > 2*min(a.times, b.times) ||
		share(uint64(a.by[by]+b.by[by]), uint64(a.times+b.times)) < signalledShare {
		return false
	}
	for futex := range ps.waitsOn(by) {
		if distance(futex, o.Futex) <= sameObject {
			return false
		}
	}
	return true
}

// waitsOn returns a thread's recorded waits on futexes.
func (ps *processes) waitsOn(t event.Thread) futexWaits {
	if ps.futexes == nil {
		ps.futexes = map[event.Thread]futexWaits{}
		for i := range ps.in.OffCPU {
			o := &ps.in.OffCPU[i]
			if o.Class != event.Futex || o.Futex == 0 || !ps.launchers[o.Thread] {
				continue
			}
			if ps.futexes[o.Thread] == nil {
				ps.futexes[o.Thread] = futexWaits{}
			}
			w := ps.futexes[o.Thread][o.Futex]
			if w == nil {
				w = &futexWait{by: map[event.Thread]int{}}
				ps.futexes[o.Thread][o.Futex] = w
			}
			w.times++
			w.by[o.Waker]++
		}
	}
	return ps.futexes[t]
}

// settleTurns turns all of a thread's waits between calls for a thread with which it mostly takes
// turns into turns: not every wait of the other thread is recorded.
func (ps *processes) settleTurns(t *subject) {
	turns, waits := map[uint32]uint64{}, map[uint32]uint64{}
	for o, r := range t.waits {
		if tid := r.behind(o); tid != 0 {
			waits[tid]++
			if r.turn {
				turns[tid]++
			}
		}
	}
	for o, r := range t.waits {
		if tid := r.behind(o); tid != 0 && !r.turn && r.between && ps.launchers[r.chain[1].Thread] &&
			share(turns[tid], waits[tid]) >= minAnswers {
			r.turn, r.kind = true, idleKind
			t.waits[o] = r
		}
	}
}

// behind returns the TID of the thread of the waiter's own process that released what it waited for; 0
// if the wait ended otherwise.
func (r *root) behind(o *event.OffCPU) uint32 {
	if len(r.chain) < 2 || !byFutex(&r.chain[1]) || r.chain[1].Thread.PID != o.PID || o.Holder != 0 {
		return 0
	}
	return r.chain[1].Thread.TID
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
