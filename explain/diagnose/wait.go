package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// threadWait is a wait for another thread, and those that this one waited for. It is empty in a claim
// of any other time.
type threadWait struct {
	row   *event.OffCPU
	chain []ledger.Link // waiter first, the root last; only the waiter if it could not be followed
	reach float64       // share of the wait that led to the root
}

// through reports whether there is such a wait.
func (w *threadWait) through() bool { return w.row != nil }

// followed reports whether there is one, and the thread that ended it is known.
func (w *threadWait) followed() bool { return w.through() && len(w.chain) > 1 }

// last returns the link at the root of the wait.
func (w *threadWait) last() *ledger.Link { return &w.chain[len(w.chain)-1] }

// ended returns the wait that the thread at the root ended, and who waited.
func (w *threadWait) ended() (event.Thread, *event.OffCPU) {
	l := &w.chain[len(w.chain)-2]
	return l.Thread, l.Wait
}

// lock names the lock that the thread waited for.
func (w *threadWait) lock() string { return fmt.Sprintf("lock %#x", w.row.Futex) }

// behind says what the thread waited for, in words that follow "waiting for".
func (w *threadWait) behind(who string) string {
	if w.locked() {
		return "a lock that " + who + " held while it"
	}
	return "data from " + who + ", which"
}

// locked reports whether the thread seems to have waited for a lock: no thread in its chain waited
// for something to be sent.
func (w *threadWait) locked() bool {
	return w.row.Class == event.Futex &&
		!slices.ContainsFunc(w.chain[1:], func(l ledger.Link) bool { return bySending(&l) })
}

// proof says how the root thread was identified.
func (w *threadWait) proof() string {
	if w.last().Proof == ledger.ByPeer {
		return "is at the other end of the socket"
	}
	return "ended the waits by writing"
}

// waitedOn names what a thread waited for.
func (ev *evidence) waitedOn(o *event.OffCPU, proof ledger.Proof) string {
	switch {
	case ledger.Stopped(o):
		return "being let go on"
	case o.Class == event.Other || o.Class == event.Ioctl:
		return ev.syscall(o.Syscall)
	case o.Class == event.Futex && proof == ledger.ByHolder:
		return fmt.Sprintf("lock %#x", o.Futex)
	case o.Class == event.Futex:
		return fmt.Sprintf("futex %#x", o.Futex)
	}
	return o.Class.String()
}
