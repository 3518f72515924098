package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/report"
)

// claimLock takes waits for a lock whose holder is known and was running, or
// whose own wait is unknown.
func claimLock(_ *scene, a *account) []piece { return a.through(LockContention) }

func tellLock(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	who := s.who(t, f.sub.PID)
	l := f.worst().chain[len(f.worst().chain)-1]
	state, did := "blocked", "it waited"
	switch class := l.Split.Largest(); {
	case !l.Known:
		state, did = "unknown", "what it did was not recorded"
	case class == event.OnCPU:
		state, did = "running", "it ran"
	case class == event.RunQueue || class == event.Throttled:
		state, did = "runnable", "it had no CPU"
	default:
		did += fmt.Sprintf(" (%s)", class)
	}
	// Without an owner in it, the word may be a condition's as well.
	what, proof := "a lock that "+who+" held while "+did, "its id was in the lock word"
	if l.Proof == ledger.ByFutex {
		what, proof = "a lock or condition that "+who+" released; until then "+did, "it woke the waiter through it"
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for %s", f.process(s), f.pct(), what)
	c.Cause.Detail = fmt.Sprintf("%s: %s", f.lock(), proof)
	c.Path = f.path(s, state, "holding "+f.lock())
	c.Recommendations = []string{
		fmt.Sprintf("make %s hold the lock for less: it held it for up to %s", who, span(f.worst().lost)),
		fmt.Sprintf("or keep the lock out of the way of thread %d, which launches the GPU's work: a queue, a copy of the data, or a try-lock", f.sub.TID),
	}
}
