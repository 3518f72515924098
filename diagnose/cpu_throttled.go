package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// minHeld is the shortest run-queue wait that is taken for throttling because
// its cgroup was throttled in that second: half of a 10 ms quota period. Time
// slices of a contended CPU are 3 to 4 ms.
const minHeld = 5 * time.Millisecond

// throttledTime finds the run-queue waits that were really throttling. The
// scheduler shows a throttled thread as runnable behind whoever else runs, so
// that its cgroup's own count decides, up to the time that it says.
func (s *scene) throttledTime() map[*event.OffCPU]uint64 {
	held := map[*event.OffCPU]uint64{}
	if len(s.in.Throttles) == 0 {
		return held
	}
	long := s.longQueues()
	throttles := slices.Clone(s.in.Throttles)
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
			case !s.inCgroup(o.PID, t.Cgroup):
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

// longQueues are the intervals that throttling may explain, by their end.
func (s *scene) longQueues() []*event.OffCPU {
	var l []*event.OffCPU
	for i := range s.in.OffCPU {
		if o := &s.in.OffCPU[i]; o.Class == event.Throttled || o.RunQueue >= uint64(minHeld) {
			l = append(l, o)
		}
	}
	slices.SortFunc(l, func(a, b *event.OffCPU) int {
		return cmp.Or(cmp.Compare(a.Start+a.Duration, b.Start+b.Duration), cmp.Compare(a.TID, b.TID), cmp.Compare(a.RunQueue, b.RunQueue))
	})
	return l
}

// inCgroup reports whether a process is in a cgroup or below it.
func (s *scene) inCgroup(pid uint32, cgroup string) bool {
	p := s.procs[pid]
	if p == nil || p.Cgroup == "" {
		return false
	}
	return p.Cgroup == cgroup || strings.HasPrefix(p.Cgroup, strings.TrimSuffix(cgroup, "/")+"/")
}

func claimThrottled(s *scene, a *account) []piece {
	pieces := a.through(CPUThrottled)
	p := piece{acc: a, key: key{kind: CPUThrottled}, class: event.Throttled}
	p.lost = a.take(event.Throttled, a.left[event.Throttled])
	direct := p.lost
	for _, o := range a.Rows {
		if o.Class == event.Throttled {
			p.count++
			p.stall = max(p.stall, o.Duration)
		} else if v := s.held[o]; v > 0 {
			p.lost += a.take(event.RunQueue, v)
			p.count++
			p.stall = max(p.stall, v)
		}
	}
	if p.lost == 0 {
		return pieces
	}
	if p.count == 0 && a.Ledger.Voluntary+a.Ledger.Involuntary <= 2 {
		p.stall = direct
	}
	p.explained = p.lost
	return append(pieces, p)
}

func tellThrottled(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	group := "its cgroup"
	if p := s.procs[t.PID]; p != nil && p.Cgroup != "" {
		group = "cgroup " + p.Cgroup
	}
	c.Cause.Detail = group + " was out of CPU quota"
	var periods, ns uint64
	for _, r := range s.in.Throttles {
		if s.inCgroup(t.PID, r.Cgroup) {
			periods += r.Periods
			ns += r.NS
			group = "cgroup " + r.Cgroup
		}
	}
	if ns > 0 {
		c.Cause.Detail = fmt.Sprintf("%s was out of CPU quota in %d periods, %s in all", group, periods, span(ns))
	}
	if f.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which was throttled: %s was out of CPU quota", f.process(s), f.pct(), s.who(t, f.sub.PID), group)
		c.Path = f.path(s, "throttled", "CPU quota of "+group)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s throttled: %s was out of CPU quota", f.process(s), f.pct(), group)
		c.Path = []report.Step{f.step(s, "throttled", "CPU quota of "+group, f.lost)}
	}
	path := "the cgroup"
	if g, ok := strings.CutPrefix(group, "cgroup "); ok {
		path = "/sys/fs/cgroup" + g
	}
	c.Recommendations = []string{
		fmt.Sprintf("raise the quota in %s/cpu.max, or write \"max\" to it (Kubernetes: the container's CPU limit)", path),
		fmt.Sprintf("or let %s use fewer threads at once; see nr_throttled in %s/cpu.stat", s.name(t.PID, ""), path),
	}
}
