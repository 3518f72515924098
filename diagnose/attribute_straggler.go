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
func attributeToStraggler(scenes []*scene) {
	for _, s := range scenes {
		for _, f := range s.list {
			if f.kind != CollectiveWait || !f.reportable(s) {
				continue
			}
			at, _ := s.resolveThread(f.Thread)
			r := s.reason(f)
			if !r.known {
				continue
			}
			spans := s.spans(f)
			for _, g := range at.list {
				if r.by[g.sub.Thread] == nil || g.within != nil || len(g.victims) > 0 || g.kind == Unknown {
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

// before is what a late rank had between the collective before a meeting and entering
// it, at most lookBack: by whose clock, and which thread it was.
func (s *scene) before(m *collectiveOp) (at *scene, t event.Thread, when interval) {
	last := m.last()
	from, ends := last.At-min(last.At, lookBack), s.met.complete[last.PID]
	if i, _ := slices.BinarySearch(ends, last.At); i > 0 {
		from = max(from, ends[i-1])
	}
	ahead := s.abroad[last.PID].ahead
	at, t = s.resolveThread(last.Thread)
	return at, t, interval{moved(from, ahead), moved(last.At, ahead)}
}

// spans are the times before all meetings of a finding, in order, that do not overlap.
func (s *scene) spans(f *finding) (list []interval) {
	seen := map[*collectiveOp]bool{}
	for i := range f.pieces {
		if m := f.pieces[i].met; m != nil && !seen[m] {
			seen[m] = true
			_, _, when := s.before(m)
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
	for i := range f.pieces {
		p := f.pieces[i]
		if p.standing {
			continue
		}
		from, to := p.acc.Start, p.acc.End()
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
		within += min(p.lost, ns)
	}
	return within
}

// tellOwn adds to a straggler's chain what the rank lost itself.
func (f *finding) tellOwn(s *scene, c *report.Chain) {
	at, _ := s.resolveThread(f.Thread)
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
