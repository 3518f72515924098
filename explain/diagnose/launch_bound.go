package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// When a thread is launch-bound: most of its time goes to launches, each as short as a launch with
// room in the queue, and it hardly ever has to wait for the GPU. Percentages are of the time that
// no other cause took, unless said otherwise.
const (
	minLaunchPct  = 50.0
	maxWaitPct    = 20.0
	minLaunchRate = 5000                  // a second
	maxLaunch     = 20 * time.Microsecond // median
	minBoundPct   = 25.0                  // least share of seconds in which it is so
	alwaysPct     = 95.0                  // of the thread's time: from this share on it counts as always so
	dominantPct   = 75.0                  // of the thread's time: from this share on it is a fault, not a property
)

// spent is a number of calls and the time in them, ns.
type spent struct{ calls, ns uint64 }

func (a *spent) add(b spent) {
	a.calls += b.calls
	a.ns += b.ns
}

// launching is how a thread spends its time while it launches: in all of its time, or in some
// seconds.
type launching struct {
	room     uint64  // ns, the time that no other cause took
	ops      []spent // by index of the subject's operations
	launches spent
	waits    spent // for the GPU
	behind   bool  // the GPU is behind at every wait for it
}

func (t *subject) newLaunching(room uint64) *launching {
	return &launching{room: room, ops: make([]spent, len(t.ops))}
}

func (l *launching) add(t *subject, i int, v spent) {
	l.ops[i].add(v)
	switch op := t.ops[i].Op; {
	case op.Role() == event.RoleLaunch:
		l.launches.add(v)
	case blocks(op):
		l.waits.add(v)
	}
}

func (l *launching) merge(t *subject, m *launching) {
	l.room += m.room
	for i, v := range m.ops {
		l.add(t, i, v)
	}
}

// addPart adds a part of m's time in which the thread launches times as much as in the whole of m,
// and waits for nothing.
func (l *launching) addPart(t *subject, m *launching, part, times float64) {
	l.room += uint64(part * float64(m.room))
	for i, v := range m.ops {
		if t.ops[i].Op.Role() == event.RoleLaunch {
			l.add(t, i, spent{uint64(part * times * float64(v.calls)), uint64(part * times * float64(v.ns))})
		}
	}
}

// share returns the share of the time that goes to launches.
func (l *launching) share() float64 { return share(l.launches.ns, l.room) }

func (l *launching) bound() bool {
	return !l.behind && l.launches.calls > 0 && float64(l.launches.calls) >= minLaunchRate*float64(l.room)/1e9 &&
		percent(l.launches.ns, l.room) >= minLaunchPct && percent(l.waits.ns, l.room) <= maxWaitPct
}

// launchingOf sums up a thread's time while it is launch-bound: the seconds in which it is, if they
// are a large enough share of its time, and a part of the seconds next to them. Waits for the GPU
// in other seconds do not count against it.
func (cs *callStats) launchingOf(t *subject) (*launching, bool) {
	for _, o := range t.ops {
		if o.Op.Role() == event.RoleLaunch && o.Hist.Quantile(0.5) > uint64(maxLaunch) {
			return nil, false
		}
	}
	seconds := cs.launchingBySecond(t)
	beside := func(i int) bool {
		return !seconds[i].bound() && (i > 0 && seconds[i-1].bound() || i+1 < len(seconds) && seconds[i+1].bound())
	}
	bound, other := t.newLaunching(0), t.newLaunching(0)
	for i, l := range seconds {
		switch {
		case l.bound():
			bound.merge(t, l)
		case !beside(i):
			other.merge(t, l)
		}
	}
	if bound.room == 0 || percent(bound.room, t.unattributed.room) < minBoundPct {
		return nil, false
	}
	most, least := bound.share(), other.share()
	for i, l := range seconds {
		p := l.share()
		if beside(i) && other.room > 0 && least < p && p < most {
			bound.addPart(t, l, (p-least)/(most-least), most/p)
		}
	}
	return bound, true
}

// launchingBySecond has an entry for each step of the series, in order. The time that other causes
// took is assumed to be spread evenly. Without a series there is one entry for all of the time.
func (cs *callStats) launchingBySecond(t *subject) []*launching {
	by := map[uint64]*launching{}
	left, behind := share(t.unattributed.room, t.wall()), cs.behind(t)
	for i, o := range t.ops {
		for _, sec := range cs.series[threadOp{t.Thread, o.Op}] {
			l := by[sec.Second]
			if l == nil {
				from := max(sec.Second*1e9, t.from)
				to := max(from, min((sec.Second+max(cs.in.SeriesStep, 1))*1e9, t.to))
				l = t.newLaunching(uint64(float64(to-from) * left))
				l.behind = behind[sec.Second].all(to-from) || t.fullQueue[sec.Second]
				by[sec.Second] = l
			}
			l.add(t, i, spent{sec.Calls, uint64(float64(sec.SumNS) * share(t.busyIn(o), o.SumNS))})
		}
	}
	if len(by) == 0 { // an earlier Ingero kept no series
		all := t.newLaunching(t.unattributed.room)
		for i, o := range t.ops {
			all.add(t, i, spent{o.Calls, t.busyIn(o)})
		}
		return []*launching{all}
	}
	var seconds []*launching
	for _, at := range slices.Sorted(maps.Keys(by)) {
		seconds = append(seconds, by[at])
	}
	return seconds
}

// busyIn returns the time in an operation's calls that no other cause took, ns. In waits for the GPU,
// the time that gpu_wait took counts as well: the GPU was at work in it.
func (t *subject) busyIn(o *store.OpStat) uint64 {
	ns := t.unattributed.ops[o.Op]
	if o.Op.Role() == event.RoleSync {
		ns = min(o.SumNS, ns+t.unattributed.onGPU[o.Op])
	}
	return ns
}

var causeLaunchBound = cause{
	kind:           event.CauseLaunchBound,
	settings:       []string{launchBlocking, "CUDA_DEVICE_MAX_CONNECTIONS"},
	takes:          onCPU,
	claimAggregate: aggregateLaunches,
	mildPct:        dominantPct,
	describe:       describeLaunchBound,
}

// aggregateLaunches takes the time of a thread's launches if it is launch-bound.
func aggregateLaunches(ev *evidence, t *subject) []claim {
	l, bound := ev.calls.launchingOf(t)
	if !bound {
		return nil
	}
	t.launching = l
	var claims []claim
	for i, o := range t.ops {
		if o.Op.Role() == event.RoleLaunch {
			claims = append(claims,
				ev.calls.aggregateClaims(t, o, event.CauseLaunchBound, event.OnCPU, t.take(o, l.ops[i].ns), l.ops[i].calls)...)
		}
	}
	return claims
}

func describeLaunchBound(ev *evidence, f *finding, c *report.Chain) {
	l := f.sub.launching
	e := c.Effect
	rate := report.Count(uint64(float64(l.launches.calls) * 1e9 / max(float64(l.room), 1)))
	c.Summary = fmt.Sprintf("%s spends %s launching: %s launches a second of %s each, and the GPU is done before the next",
		f.process(ev), f.pct(), rate, span(e.P50NS))
	c.Cause.Detail = fmt.Sprintf("the thread waited for the GPU for %s in %s calls, so the GPU finishes its work "+
		"before more comes and is idle between; how much of the launch time its own work would fill is not known, so the "+
		"loss is an upper bound",
		span(l.waits.ns), report.Count(l.waits.calls))
	if l.waits.calls == 0 {
		c.Cause.Detail = "no call waited for the GPU and no launch for room in its queue; how much of the launch time the " +
			"GPU's own work would fill is not known, so the loss is an upper bound"
	}
	if percent(l.room, f.sub.wall()) < alwaysPct {
		c.Cause.Detail += fmt.Sprintf("; this is so in %s of %s", span(l.room), span(f.sub.wall()))
	}
	site := ev.calls.site(f)
	if site != "" {
		c.Cause.Detail += "; called from " + site
		site = " of " + site
	}
	c.Path = []report.Step{f.step(ev, "running", "inside "+e.Op, f.lost)}
	graph := fmt.Sprintf("put the launches%s into a CUDA graph: one cudaGraphLaunch instead of many %s", site, e.Op)
	c.Recommendations = append([]string{graph}, ev.procs.advise(f.sub.PID, nil, adviceFuse)...)
}
