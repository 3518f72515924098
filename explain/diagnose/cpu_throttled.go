package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

var causeCPUThrottled = cause{
	kind:         event.CauseCPUThrottled,
	takes:        blocked | only(event.Throttled, event.RunQueue),
	claimEpisode: claimThrottled,
	inLink:       throttledLink,
	place:        throttledGroup,
	sharedRoot:   groupWithQuota,
	counts:       []event.Class{event.Throttled, event.RunQueue},
	describe:     describeThrottled,
}

// minHeld is the shortest run-queue wait that counts as throttling because its cgroup was throttled
// in that second: half of a 10 ms quota period. Time slices of a contended CPU are 3 to 4 ms.
const minHeld = 5 * time.Millisecond

// throttledTime finds the run-queue waits that were really throttling, with the throttled ns of
// each. The scheduler shows a throttled thread as runnable while others run. So the cgroup's own
// counter decides, up to the time that it reports.
func (ev *evidence) throttledTime() map[*event.OffCPU]uint64 {
	held := map[*event.OffCPU]uint64{}
	if len(ev.in.Throttles) == 0 {
		return held
	}
	long := ev.host.longQueues()
	throttles := slices.Clone(ev.in.Throttles)
	slices.SortFunc(throttles, func(a, b store.Throttle) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Cgroup, b.Cgroup), cmp.Compare(a.NS, b.NS))
	})
	for _, t := range throttles {
		if t.NS == 0 || t.Cgroup == "" {
			continue
		}
		budget := t.NS
		var rows []*event.OffCPU
		i := sort.Search(len(long), func(i int) bool { return long[i].Start+long[i].Duration+uint64(time.Second) > t.At })
		for ; i < len(long) && long[i].Start+long[i].Duration <= t.At; i++ {
			switch o := long[i]; {
			case !ev.procs.inCgroup(o.PID, t.Cgroup):
			case o.Class == event.Throttled:
				budget -= min(budget, o.Duration)
			case held[o] == 0:
				rows = append(rows, o)
			}
		}
		slices.SortFunc(rows, func(a, b *event.OffCPU) int {
			return cmp.Or(cmp.Compare(b.RunQueue, a.RunQueue), cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
		})
		for _, o := range rows {
			v := min(o.RunQueue, o.Duration, budget)
			if v == 0 {
				break
			}
			held[o] = v
			budget -= v
		}
	}
	return held
}

// longQueues returns the off-CPU intervals that throttling may explain, by their end.
func (hs *hostState) longQueues() []*event.OffCPU {
	var l []*event.OffCPU
	for i := range hs.in.OffCPU {
		if o := &hs.in.OffCPU[i]; o.Class == event.Throttled || o.RunQueue >= uint64(minHeld) {
			l = append(l, o)
		}
	}
	slices.SortFunc(l, func(a, b *event.OffCPU) int {
		return cmp.Or(cmp.Compare(a.Start+a.Duration, b.Start+b.Duration), cmp.Compare(a.TID, b.TID),
			cmp.Compare(a.RunQueue, b.RunQueue))
	})
	return l
}

// inCgroup reports whether a process is in a cgroup or below it.
func (ps *processes) inCgroup(pid uint32, cgroup string) bool {
	p := ps.byPID[pid]
	if p == nil || p.Cgroup == "" {
		return false
	}
	return p.Cgroup == cgroup || strings.HasPrefix(p.Cgroup, strings.TrimSuffix(cgroup, "/")+"/")
}

func claimThrottled(ev *evidence, a *account) []claim {
	claims := a.through(event.CauseCPUThrottled)
	cl := claim{acc: a, key: key{kind: event.CauseCPUThrottled}, class: event.Throttled}
	cl.lost = a.take(event.Throttled, a.left[event.Throttled])
	direct := cl.lost
	for _, o := range a.Rows {
		if o.Class == event.Throttled {
			cl.count++
			cl.stall = max(cl.stall, o.Duration)
		} else if v := ev.host.held[o]; v > 0 {
			cl.lost += a.take(event.RunQueue, v)
			cl.count++
			cl.stall = max(cl.stall, v)
		}
	}
	if cl.lost == 0 {
		return claims
	}
	if cl.count == 0 && a.Ledger.Voluntary+a.Ledger.Involuntary <= 2 {
		cl.stall = direct
	}
	cl.explained = cl.lost
	return append(claims, cl)
}

// throttledLink returns how long a thread was throttled by its CPU quota, ns.
func throttledLink(ev *evidence, l *ledger.Link) uint64 {
	return l.Split.NS[event.Throttled] + ev.host.throttledIn(l)
}

// throttledIn returns the run-queue time of a link that was throttling, ns.
func (hs *hostState) throttledIn(l *ledger.Link) uint64 {
	var v uint64
	for _, o := range l.Rows {
		v += hs.held[o]
	}
	return min(v, l.Split.NS[event.RunQueue])
}

// throttledGroup returns the control group whose quota ran out.
func throttledGroup(ev *evidence, f *finding) (string, bool) {
	q := ev.procs.quotaOf(f.root().PID)
	if q == nil {
		return "", false
	}
	return q.group, true
}

// groupWithQuota names the throttled thread's control group, which other processes may be in, too;
// empty for the root group.
func groupWithQuota(ev *evidence, f *finding) string {
	if p := ev.procs.byPID[f.root().PID]; p != nil && below(p.Cgroup) {
		return f.kind + " " + p.Cgroup
	}
	return ""
}

// quota is a control group's CPU quota, and how often it ran out in the window.
type quota struct {
	group       string // path in its hierarchy
	periods, ns uint64 // throttled: number, and time summed over CPUs
	us, period  uint64 // CPU time that it has in each period, and the period, microseconds; 0 if not recorded
	version     uint8  // of control groups, 0 if not recorded
	first, last uint64 // the first and last reading with throttled periods, Unix ns
}

// quotaOf returns the quota that throttled a process longest; nil if none is known. Of nested groups
// that were throttled equally long, the inner one is returned.
func (ps *processes) quotaOf(pid uint32) *quota {
	by := map[string]*quota{}
	for i := range ps.in.Throttles {
		r := &ps.in.Throttles[i]
		if r.NS == 0 || !ps.inCgroup(pid, r.Cgroup) {
			continue
		}
		q := by[r.Cgroup]
		if q == nil {
			q = &quota{group: r.Cgroup, first: r.At}
			by[r.Cgroup] = q
		}
		q.periods += r.Periods
		q.ns += r.NS
		q.first, q.last = min(q.first, r.At), max(q.last, r.At)
		if r.PeriodUS > 0 {
			q.us, q.period, q.version = r.QuotaUS, r.PeriodUS, r.Version
		}
	}
	var most *quota
	for _, q := range by {
		if most == nil || cmp.Or(cmp.Compare(q.ns, most.ns), cmp.Compare(len(q.group), len(most.group))) > 0 {
			most = q
		}
	}
	return most
}

// detail says how often the quota ran out.
func (q *quota) detail() string {
	s := fmt.Sprintf("cgroup %s was out of CPU quota in %s, %s in all", q.group, report.Plural(q.periods, "period"),
		span(q.ns))
	if q.period > 0 {
		s += fmt.Sprintf("; it may run %s of CPU time each %s", span(q.us*1000), span(q.period*1000))
	}
	return s
}

// minRegular is the least share of throttled periods, between the first and last second with one,
// for which the loss counts as coming once a period.
const minRegular = 0.5

// pattern replaces a measured pattern by the known one: the kernel renews the quota once a period,
// so a thread that uses it up loses time at that interval.
func (q *quota) pattern(p *report.Pattern) {
	if p == nil || q == nil || q.period == 0 || q.periods < pattern.MinTimes {
		return
	}
	ns := q.period * 1000
	elapsed := q.last - q.first + uint64(time.Second) // a reading counts the second before it
	if float64(q.periods)*float64(ns) >= minRegular*float64(elapsed) {
		p.Kind, p.Times, p.PeriodNS = pattern.Periodic, int(q.periods), ns
	}
}

// advice says where to raise the quota, and where its statistics are. The folder is where
// distributions mount the hierarchy.
func (q *quota) advice() (raise, look string) {
	const kubernetes = " (Kubernetes: the container's CPU limit)"
	if q.version == 1 {
		dir := "/sys/fs/cgroup/cpu" + q.group
		return fmt.Sprintf("write more than %d to %s/cpu.cfs_quota_us, or -1 for no quota%s", q.us, dir, kubernetes),
			dir + "/cpu.stat"
	}
	dir := "/sys/fs/cgroup" + q.group
	return fmt.Sprintf("raise the quota in %s/cpu.max, or write \"max\" to it%s", dir, kubernetes), dir + "/cpu.stat"
}

func describeThrottled(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	q := ev.procs.quotaOf(t.PID)
	group := "its cgroup"
	switch p := ev.procs.byPID[t.PID]; {
	case q != nil:
		group = "cgroup " + q.group
		c.Cause.Detail = q.detail()
		q.pattern(c.Pattern)
	case p != nil && below(p.Cgroup):
		group = "cgroup " + p.Cgroup
		q = &quota{group: p.Cgroup}
		fallthrough
	default:
		c.Cause.Detail = group + " was out of CPU quota"
	}
	if f.worst.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which %s throttled: %s was out of CPU quota",
			f.process(ev), f.pct(), f.about(ev), f.parts.was(), group)
		c.Path = f.path(ev, "throttled", "CPU quota of "+group)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s throttled: %s was out of CPU quota", f.process(ev), f.pct(), group)
		c.Path = []report.Step{f.step(ev, "throttled", "CPU quota of "+group, f.lost)}
	}
	if q == nil {
		c.Recommendations = []string{
			fmt.Sprintf("find the quota: /proc/%d/cgroup names the groups of %s; raise it there (Kubernetes: the container's "+
				"CPU limit)", t.PID, ev.procs.name(t.PID, "")),
		}
		return
	}
	raise, look := q.advice()
	c.Recommendations = []string{
		raise,
		fmt.Sprintf("or let %s use fewer threads at once; see nr_throttled in %s", ev.procs.name(t.PID, ""), look),
	}
}

// below reports whether a group is below the root, which has no quota.
func below(group string) bool { return group != "" && group != "/" }
