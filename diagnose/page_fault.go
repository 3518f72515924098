package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// claimPageFault takes waits in page faults: memory that was swapped out,
// reclaimed, or mapped from a file not in memory.
func claimPageFault(_ *scene, a *account) []piece {
	pieces := a.through(PageFault)
	v := a.take(event.Fault, a.left[event.Fault])
	if v == 0 {
		return pieces
	}
	p := piece{acc: a, key: key{kind: PageFault}, class: event.Fault, lost: v, explained: v}
	for _, o := range a.Rows {
		if o.Class == event.Fault {
			p.count++
			p.stall = max(p.stall, o.Duration)
		}
	}
	return append(pieces, p)
}

func tellPageFault(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	c.Summary = fmt.Sprintf("%s lost %s waiting in page faults %s", f.process(s), f.pct(), f.place())
	c.Path = []report.Step{f.step(s, "blocked", "page fault", f.lost)}
	if f.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which waited in page faults", f.process(s), f.pct(), s.who(t, f.sub.PID))
		c.Path = f.path(s, "blocked", "page fault")
	}
	c.Cause.Detail = "memory that is swapped out, or mapped from a file that is not in memory"
	c.Recommendations = []string{
		fmt.Sprintf("see what %s has swapped out: grep VmSwap /proc/%d/status", s.name(t.PID, ""), t.PID),
		"read mapped files ahead (madvise MADV_WILLNEED), or lock the memory that the GPU's work needs (mlock)",
	}
}
