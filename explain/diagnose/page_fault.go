package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causePageFault = cause{
	kind:         event.CausePageFault,
	takes:        blocked,
	claimEpisode: claimPageFault,
	inLink:       func(_ *evidence, l *ledger.Link) uint64 { return l.Split.NS[event.Fault] },
	place:        sameProcess,
	counts:       []event.Class{event.Fault},
	describe:     describePageFault,
}

// claimPageFault takes waits in page faults that are not for a file or for swap, and waits for the
// lock of the address space, which page faults take, too.
func claimPageFault(ev *evidence, a *account) []claim {
	claims := a.through(event.CausePageFault)
	v := a.take(event.Fault, a.left[event.Fault]) + a.take(event.BlockIO, ev.host.locked(a))
	if v == 0 {
		return claims
	}
	cl := claim{acc: a, key: key{kind: event.CausePageFault}, class: event.Fault, lost: v, explained: v}
	for _, o := range a.Rows {
		if o.Class == event.Fault || ev.host.addressLock(o) {
			cl.count++
			cl.stall = max(cl.stall, o.Duration)
		}
	}
	return append(claims, cl)
}

// addressLock reports whether a thread in uninterruptible sleep waited for the lock of its address
// space (mmap_lock), not for the disk.
func (hs *hostState) addressLock(o *event.OffCPU) bool {
	return (o.Class == event.Fault || o.Class == event.BlockIO) && hs.within(o, addresses)
}

// locked returns the time of an episode that looks like block I/O but is a wait for the lock of the
// address space, ns.
func (hs *hostState) locked(a *account) uint64 {
	var ns uint64
	for _, o := range a.Rows {
		if o.Class == event.BlockIO && hs.addressLock(o) {
			b, e := ledger.Blocked(o)
			ns += e - min(b, e)
		}
	}
	return ns
}

// onLock reports whether most waits were for that lock.
func (hs *hostState) onLock(claims claimList) bool {
	var lock, all uint64
	for _, cl := range claims {
		for _, o := range cl.waits() {
			if hs.addressLock(o) {
				lock += o.Duration
			}
			if o.Class == event.Fault || hs.addressLock(o) {
				all += o.Duration
			}
		}
	}
	return share(lock, all) >= half
}

func describePageFault(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	c.Summary = fmt.Sprintf("%s lost %s waiting in page faults %s", f.process(ev), f.pct(), f.claims.place())
	c.Path = []report.Step{f.step(ev, "blocked", "page fault", f.lost)}
	if f.worst.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which waited in page faults", f.process(ev), f.pct(), f.about(ev))
		c.Path = f.path(ev, "blocked", "page fault")
	}
	if ev.host.onLock(f.claims) {
		c.Cause.Detail = "it waited for the lock of its address space (mmap_lock), which another of its threads held: " +
			"mmap, munmap, mprotect or a fault of their own"
		c.Recommendations = []string{
			fmt.Sprintf("map and unmap less in other threads of %s: keep buffers, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of "+
				"mallopt(3) keep malloc from it", ev.procs.name(t.PID, "")),
			fmt.Sprintf("see who does: perf trace -p %d -e mmap,munmap,mprotect,madvise", t.PID),
		}
		return
	}
	c.Cause.Detail = "memory that was not there: swapped out, or mapped and not in memory"
	c.Recommendations = []string{
		fmt.Sprintf("see what %s has swapped out: grep VmSwap /proc/%d/status", ev.procs.name(t.PID, ""), t.PID),
		"read mapped files ahead (madvise MADV_WILLNEED), or lock the memory that the GPU's work needs (mlock)",
	}
}
