package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/report"
)

// rankLosses link the finding of the ranks that waited with the late rank's own losses in that time.
type rankLosses struct {
	own     []*finding // of the first: the late rank's own losses
	because *finding   // of own, the one that says why it was late, if nothing else does
	within  *finding   // of an own loss: the finding that reports it
}

// attributeToStraggler makes a late rank's own losses part of the finding of the ranks that waited
// for it: it is the same time, and what it cost the job is what the waiting ranks lost. An own loss
// of at least half of the lateness is taken as the reason if nothing else shows one: with a fast
// disk, or a crowded CPU, most waits are too short to be recorded one by one.
func attributeToStraggler(machines []*evidence) {
	for _, ev := range machines {
		for _, f := range ev.list {
			if !f.cause.ownLosses || !f.reportable(ev) {
				continue
			}
			at, _ := ev.resolveThread(f.Thread)
			r := ev.reason(f)
			if !r.known {
				continue
			}
			spans := ev.spans(f)
			for _, g := range at.list {
				if r.by[g.sub.Thread] == nil || g.rank.within != nil || len(g.others.processes) > 0 || g.cause.unexplained {
					continue
				}
				class, ns := g.worst.class, g.claims.inside(spans)
				shows := r.class == event.OnCPU && class != event.OnCPU && ns >= r.late/2 &&
					g.worst.acc.role != event.RoleSync // reason counts waits for the GPU apart
				if ns < g.lost/2 || class != r.class && !shows {
					continue
				}
				g.rank.within = f
				if share(ns, r.late) >= minDoing {
					f.rank.own = append(f.rank.own, g)
				}
				if shows {
					f.rank.because, r.class = g, class
				}
			}
		}
	}
}

// before returns the time between the previous collective operation and the late rank's entry into
// this one, at most lookBack long; with the machine by whose clock it is given, and the late
// thread.
func (ev *evidence) before(m *cluster.Operation) (at *evidence, t event.Thread, when cluster.Interval) {
	last := m.Last()
	from := last.At - min(last.At, lookBack)
	if at, ok := ev.ranks.collectiveOps.CompleteBefore(last.PID, last.At); ok {
		from = max(from, at)
	}
	ahead := ev.ranks.remoteThreads[last.PID].ahead
	at, t = ev.resolveThread(last.Thread)
	return at, t, cluster.Interval{From: cluster.Moved(from, ahead), To: cluster.Moved(last.At, ahead)}
}

// spans returns the times before each collective operation of a finding, in order and joined where they
// overlap.
func (ev *evidence) spans(f *finding) (list []cluster.Interval) {
	seen := map[*cluster.Operation]bool{}
	for i := range f.claims {
		if m := f.claims[i].op; m != nil && !seen[m] {
			seen[m] = true
			_, _, when := ev.before(m)
			list = append(list, when)
		}
	}
	return cluster.Joined(list)
}

// inside returns how much of the lost time is within the spans, ns.
func (l claimList) inside(spans []cluster.Interval) (within uint64) {
	for _, cl := range l {
		if cl.aggregate {
			continue
		}
		from, to := cl.acc.Start, cl.acc.End()
		n, _ := slices.BinarySearchFunc(spans, from, func(v cluster.Interval, at uint64) int {
			if v.To <= at {
				return -1
			}
			return 1
		})
		var ns uint64
		for ; n < len(spans) && spans[n].From < to; n++ {
			ns += min(to, spans[n].To) - max(from, spans[n].From)
		}
		within += min(cl.lost, ns)
	}
	return within
}

// describeOwn adds the late rank's own losses to a straggler's chain.
func describeOwn(ev *evidence, f *finding, c *report.Chain) {
	at, _ := ev.resolveThread(f.Thread)
	for _, g := range f.rank.own {
		own := g.chain(at, at.all)
		c.Cause.Detail += fmt.Sprintf("; the rank itself lost %s to %s", g.pct(), g.kind)
		for _, fix := range own.Recommendations {
			if !slices.Contains(c.Recommendations, fix) {
				c.Recommendations = append(c.Recommendations, fix)
			}
		}
	}
}
