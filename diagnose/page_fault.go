package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/report"
)

// claimPageFault takes waits in page faults that are not for a file or for swap,
// and waits for the lock of the address space, which faults take as well.
func claimPageFault(s *scene, a *account) []piece {
	pieces := a.through(PageFault)
	v := a.take(event.Fault, a.left[event.Fault]) + a.take(event.BlockIO, s.locked(a))
	if v == 0 {
		return pieces
	}
	p := piece{acc: a, key: key{kind: PageFault}, class: event.Fault, lost: v, explained: v}
	for _, o := range a.Rows {
		if o.Class == event.Fault || s.addressLock(o) {
			p.count++
			p.stall = max(p.stall, o.Duration)
		}
	}
	return append(pieces, p)
}

// addressLock reports whether a thread that sleeps without interruption waits for
// the lock of its address space (mmap_lock), not for the disk.
func (s *scene) addressLock(o *event.OffCPU) bool {
	return (o.Class == event.Fault || o.Class == event.BlockIO) && s.within(o, addresses)
}

// locked is the time of an episode that looks like block I/O and is a wait for the
// lock of the address space.
func (s *scene) locked(a *account) uint64 {
	var ns uint64
	for _, o := range a.Rows {
		if o.Class == event.BlockIO && s.addressLock(o) {
			b, e := ledger.Blocked(o)
			ns += e - min(b, e)
		}
	}
	return ns
}

// onLock reports whether most of a finding's waits were for that lock.
func (f *finding) onLock(s *scene) bool {
	var lock, all uint64
	for _, p := range f.pieces {
		rows := p.acc.Rows
		if p.row != nil {
			rows = p.chain[len(p.chain)-1].Rows
		}
		for _, o := range rows {
			if s.addressLock(o) {
				lock += o.Duration
			}
			if o.Class == event.Fault || s.addressLock(o) {
				all += o.Duration
			}
		}
	}
	return share(lock, all) >= half
}

func tellPageFault(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	c.Summary = fmt.Sprintf("%s lost %s waiting in page faults %s", f.process(s), f.pct(), f.place())
	c.Path = []report.Step{f.step(s, "blocked", "page fault", f.lost)}
	if f.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which waited in page faults", f.process(s), f.pct(), f.about(s))
		c.Path = f.path(s, "blocked", "page fault")
	}
	if f.onLock(s) {
		c.Cause.Detail = "it waited for the lock of its address space (mmap_lock), which another of its threads held: mmap, munmap, mprotect or a fault of their own"
		c.Recommendations = []string{
			fmt.Sprintf("map and unmap less in other threads of %s: keep buffers, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of mallopt(3) keep malloc from it", s.name(t.PID, "")),
			fmt.Sprintf("see who does: perf trace -p %d -e mmap,munmap,mprotect,madvise", t.PID),
		}
		return
	}
	c.Cause.Detail = "memory that was not there: swapped out, or mapped and not in memory"
	c.Recommendations = []string{
		fmt.Sprintf("see what %s has swapped out: grep VmSwap /proc/%d/status", s.name(t.PID, ""), t.PID),
		"read mapped files ahead (madvise MADV_WILLNEED), or lock the memory that the GPU's work needs (mlock)",
	}
}
