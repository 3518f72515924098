package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeLockContention = cause{
	kind:         event.CauseLockContention,
	takes:        blocked,
	claimEpisode: claimLock,
	passedOn:     event.CauseInputStarvation,
	hostFunc:     idleKind,
	place:        sameLock,
	describe:     describeLock,
}

// claimLock takes waits for a lock whose holder is known and was running, or whose holder waited
// for unknown reasons.
func claimLock(_ *evidence, a *account) []claim { return a.through(event.CauseLockContention) }

func sameLock(_ *evidence, f *finding) (string, bool) {
	return fmt.Sprintf("%d %s", f.sub.PID, f.worst.lock()), true
}

func describeLock(ev *evidence, f *finding, c *report.Chain) {
	who := f.about(ev)
	l := f.worst.last()
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
	if op := ev.calls.during(f.claims); op != "" {
		did = "it was in " + op
	}
	// If the lock word has no owner, it may also belong to a condition variable.
	what, proof := "a lock that "+who+" held while "+did, "its id was in the lock word"
	switch l.Proof {
	case ledger.ByWake:
		what = fmt.Sprintf("a lock of the kernel in %s, which %s released; until then %s",
			ev.syscall(f.worst.row.Syscall), who, did)
		proof = fmt.Sprintf("the wait ended when %s was in %s", who, ev.syscall(f.worst.row.WakerSyscall))
	case ledger.ByFutex:
		what, proof = "a lock or condition that "+who+" released; until then "+did, "it woke the waiter through it"
	case ledger.ByHabit:
		what, proof = "a lock or condition that "+who+" releases; meanwhile "+did,
			"it released it the other times, this wait timed out"
	}
	_, ended := f.worst.ended()
	joined := l.Proof == ledger.ByFutex && ended.WakerFutex == 0 && ev.host.exits[ended.WakerSyscall]
	if joined {
		what, proof = who+" to end; until then "+did, "it ended, which the kernel tells who waits for it (pthread_join)"
	}
	if ev.procs.interpreter(f) {
		what, proof = "Python's interpreter lock (GIL), which "+who+" released; until then "+did,
			"waits for it time out every 5 ms, and "+who+" ends those that do not"
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for %s", f.process(ev), f.pct(), what)
	c.Cause.Detail = fmt.Sprintf("%s: %s", f.worst.lock(), proof)
	c.Path = f.path(ev, state, "holding "+f.worst.lock())
	c.Recommendations = []string{
		fmt.Sprintf("make %s hold the lock for less: it held it for up to %s", who, span(f.worst.lost)),
		fmt.Sprintf("or keep the lock out of the way of thread %d, which launches the GPU's work: a queue, a copy of the "+
			"data, or a try-lock", f.sub.TID),
	}
	if joined {
		c.Path = f.path(ev, state, "its work")
		c.Recommendations = []string{
			fmt.Sprintf("start %s sooner, and wait for it only when its result is needed", who),
			fmt.Sprintf("or let thread %d, which launches the GPU's work, do something else meanwhile: a queue of work for "+
				"threads that stay", f.sub.TID),
		}
	}
	if ev.procs.interpreter(f) {
		c.Recommendations = []string{
			fmt.Sprintf("move what %s does to another process (multiprocessing), or into code that releases the interpreter "+
				"lock (NumPy, a C extension)", who),
			"or let it give way sooner: sys.setswitchinterval(0.0005)",
		}
	}
}

// CPython waits switchInterval for its interpreter lock, then asks for it and waits again
// (sys.getswitchinterval, 5 ms by default). The wait may end up to switchLate later.
const (
	switchInterval = 5_000_000
	switchLate     = 1_000_000
)

// interpreter reports whether the lock is CPython's interpreter lock: the process runs Python, and
// at least two waits on the same futex as the longest one timed out after its interval.
func (ps *processes) interpreter(f *finding) bool {
	p := ps.byPID[f.sub.PID]
	if p == nil || !strings.Contains(strings.ToLower(p.Name+" "+p.Command), "python") {
		return false
	}
	worst := f.worst
	if !worst.through() || worst.row.Holder != 0 { // CPython's is a condition, which has no owner
		return false
	}
	timeouts, word := 0, worst.row.Futex
	for _, cl := range f.claims {
		if !cl.through() || cl.row.WakerFutex != 0 || cl.row.Holder != 0 || distance(cl.row.Futex, word) > sameObject {
			continue
		}
		if b, e := ledger.Blocked(cl.row); e-b >= switchInterval-switchLate/10 && e-b <= switchInterval+switchLate {
			timeouts++
		}
	}
	return timeouts >= 2
}
