package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// Threads of one program that take turns: PyTorch's main thread hands the backward pass
// to its autograd thread and waits until that is done. What the other one does then is
// this thread's work, and what holds it up is found there: the wait is no lock's.

// sameObject is how far apart two words of one lock or condition are at most: the words
// of a condition of glibc are within its 48 bytes.
const sameObject = 64

// turn reports whether a thread waited between its calls for the thread of a link to
// whom it had handed its work: that one gives work to the GPU too, had itself been
// waiting, and was woken by the waiter, through something else than it answered by. Two
// threads that are after the same lock wait for the same word.
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
	return false
}

// settleTurns makes turns of all waits between calls of a thread for one that it mostly
// takes turns with: not every time that the other one waited is recorded.
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

// behind is the thread of the waiter's own process that released what it waited for, 0 if
// that is not what ended the wait.
func (r *root) behind(o *event.OffCPU) uint32 {
	if len(r.chain) < 2 || !byFutex(&r.chain[1]) || r.chain[1].Thread.PID != o.PID || o.Holder != 0 {
		return 0
	}
	return r.chain[1].Thread.TID
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
