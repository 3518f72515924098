package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// attributeToStraggler makes what a late rank lost itself part of the finding of those that waited
// for it: it is the same time, and what it cost the job is what they lost. A loss that
// made up half of the lateness is why the rank was late, if nothing else shows it: with
// a fast disk, or a crowded CPU, most waits are too short to be listed one by one.
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
				if r.by[g.sub.Thread] == nil || g.within != nil || len(g.victims) > 0 || g.cause.unexplained {
					continue
				}
				class, ns := g.worst().class, g.inside(spans)
				shows := r.class == event.OnCPU && class != event.OnCPU && ns >= r.late/2 &&
					g.worst().acc.role != event.RoleSync // reason counts waits for the GPU apart
				if ns < g.lost/2 || class != r.class && !shows {
					continue
				}
				g.within = f
				if share(ns, r.late) >= minDoing {
					f.own = append(f.own, g)
				}
				if shows {
					f.because, r.class = g, class
				}
			}
		}
	}
}

// interval is a piece of time, ns.
type interval struct{ from, to uint64 }

// before is what a late rank had between the collective operation before one and entering
// it, at most lookBack: by whose clock, and which thread it was.
func (ev *evidence) before(m *collectiveOp) (at *evidence, t event.Thread, when interval) {
	last := m.last()
	from, ends := last.At-min(last.At, lookBack), ev.collectiveOps.complete[last.PID]
	if i, _ := slices.BinarySearch(ends, last.At); i > 0 {
		from = max(from, ends[i-1])
	}
	ahead := ev.remoteThreads[last.PID].ahead
	at, t = ev.resolveThread(last.Thread)
	return at, t, interval{moved(from, ahead), moved(last.At, ahead)}
}

// spans are the times before all collective operations of a finding, in order, that do not overlap.
func (ev *evidence) spans(f *finding) (list []interval) {
	seen := map[*collectiveOp]bool{}
	for i := range f.claims {
		if m := f.claims[i].op; m != nil && !seen[m] {
			seen[m] = true
			_, _, when := ev.before(m)
			list = append(list, when)
		}
	}
	return joined(list)
}

// joined are spans in order, made one where they overlap.
func joined(list []interval) []interval {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var out []interval
	for _, v := range list {
		if n := len(out); n > 0 && v.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, v.to)
			continue
		}
		out = append(out, v)
	}
	return out
}

// inside is how much of what a finding lost was lost in given spans.
func (f *finding) inside(spans []interval) (within uint64) {
	for i := range f.claims {
		cl := f.claims[i]
		if cl.aggregate {
			continue
		}
		from, to := cl.acc.Start, cl.acc.End()
		n, _ := slices.BinarySearchFunc(spans, from, func(v interval, at uint64) int {
			if v.to <= at {
				return -1
			}
			return 1
		})
		var ns uint64
		for ; n < len(spans) && spans[n].from < to; n++ {
			ns += min(to, spans[n].to) - max(from, spans[n].from)
		}
		within += min(cl.lost, ns)
	}
	return within
}

// describeOwn adds to a straggler's chain what the rank lost itself.
func (f *finding) describeOwn(ev *evidence, c *report.Chain) {
	at, _ := ev.resolveThread(f.Thread)
	for _, g := range f.own {
		own := g.chain(at, at.all)
		c.Cause.Detail += fmt.Sprintf("; the rank itself lost %s to %s", g.pct(), g.kind)
		for _, fix := range own.Recommendations {
			if !slices.Contains(c.Recommendations, fix) {
				c.Recommendations = append(c.Recommendations, fix)
			}
		}
	}
}
