package diagnose

import (
	"fmt"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// When a thread is bound by launching: most of its time goes to launches, each as
// short as one is if the queue has room, and it hardly ever finds the GPU at work.
// Percentages are of the time that no other cause took.
const (
	minLaunchPct  = 50.0
	maxWaitPct    = 20.0
	minLaunchRate = 5000                  // a second
	maxLaunch     = 20 * time.Microsecond // median
	dominantPct   = 75.0                  // percent of the time from which it is more than a property
)

// launching is what a thread did to launch.
type launching struct {
	ops   []*store.OpStat
	calls uint64
	sum   uint64 // ns
	waits uint64 // calls that wait for the GPU
	wait  uint64 // ns in them
	short bool   // the median launch is short
}

func (s *scene) launchingOf(t *subject) launching {
	l := launching{short: true}
	for _, o := range t.ops {
		switch {
		case o.Op.Role() == event.RoleLaunch:
			l.ops = append(l.ops, o)
			l.calls += o.Calls
			l.sum += t.rest.ops[o.Op]
			l.short = l.short && o.Hist.Quantile(0.5) <= uint64(maxLaunch)
		case blocks(o.Op):
			l.waits += o.Calls
			l.wait += t.rest.ops[o.Op]
		}
	}
	return l
}

// launchTime takes the time of a thread's launches if that is what it does.
func launchTime(s *scene, t *subject) []piece {
	l := s.launchingOf(t)
	rate := float64(l.calls) / max(float64(t.rest.room)/1e9, 1e-9)
	if !l.short || rate < minLaunchRate || percent(l.sum, t.rest.room) < minLaunchPct || percent(l.wait, t.rest.room) > maxWaitPct {
		return nil
	}
	var pieces []piece
	for _, o := range l.ops {
		pieces = append(pieces, s.stand(t, o, LaunchBound, event.OnCPU, t.take(o, t.rest.ops[o.Op]), o.Calls)...)
	}
	return pieces
}

func tellLaunchBound(s *scene, f *finding, c *report.Chain) {
	l := s.launchingOf(f.sub)
	e := c.Effect
	c.Summary = fmt.Sprintf("%s spends %s launching: %s launches a second of %s each, and the GPU is done before the next",
		f.process(s), f.pct(), report.Count(uint64(float64(l.calls)*1e9/max(float64(f.sub.wall()), 1))), span(e.P50NS))
	c.Cause.Detail = fmt.Sprintf("the thread waited for the GPU for %s in %s calls, so the GPU finishes its work before more comes and is idle between; how much of the launch time its own work would fill is not known, so the loss is an upper bound",
		span(l.wait), report.Count(l.waits))
	if l.waits == 0 {
		c.Cause.Detail = "no call waited for the GPU and no launch for room in its queue; how much of the launch time the GPU's own work would fill is not known, so the loss is an upper bound"
	}
	site := s.site(f)
	if site != "" {
		c.Cause.Detail += "; called from " + site
		site = " of " + site
	}
	c.Path = []report.Step{f.step(s, "running", "inside "+e.Op, f.lost)}
	c.Recommendations = []string{
		fmt.Sprintf("put the launches%s into a CUDA graph: one cudaGraphLaunch instead of many %s", site, e.Op),
		"or have fewer and larger kernels: fuse them (torch.compile, fused optimisers), or give each more work (a larger batch)",
	}
}
