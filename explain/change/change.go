// Package change finds the times from which on a thread's steps take longer: changes of level, drifts and single slow
// times, in the sums of each second. It is pure, and knows neither recordings nor causes: package diagnose passes it
// the seconds of a recording, the running tracer its last ones.
//
// Only changes for the worse are reported. Alternating phases, such as training and validation, warm-up, and seconds
// without steps do not count as changes.
package change

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

const (
	minSeconds = 3    // of each part
	minRatio   = 1.10 // of the fastest part after to the slowest part before
	noise      = 0.01 // least standard deviation of a series, as a share
	alike      = 1.10 // ratio up to which numbers of calls count as equal
)

// Thread is a thread, and how its steps are counted.
type Thread struct {
	event.Thread
	Process string // its name
	// Op is the operation whose call ends a step; Once are others that are called once per step.
	Op   event.Op
	Once []event.Op
	// Rate says that it is not known whether the calls repeat. Then calls of Op are compared as long as each has as much
	// work launched.
	Rate bool
}

// Second is what a thread did in a second, or in a few seconds of a long recording.
type Second struct {
	At      uint64 // Unix ns, its begin
	Ops     []Sum  // outermost calls
	Between event.Ledger
}

// Sum has all calls of an operation.
type Sum struct {
	Op     event.Op
	Calls  uint64
	NS     uint64
	Bytes  uint64
	Ledger event.Ledger
	Sites  []Site // of an operation that waits for the GPU: its call sites
}

// Site is how often an operation was called at a place in the program: event.SiteArg.
type Site struct{ Site, Calls uint64 }

// At adds a call at a place.
func (s *Sum) At(site, calls uint64) {
	for i := range s.Sites {
		if s.Sites[i].Site == site {
			s.Sites[i].Calls += calls
			return
		}
	}
	if site != 0 && len(s.Sites) < maxSites {
		s.Sites = append(s.Sites, Site{site, calls})
	}
}

// maxSites is how many places of an operation are distinguished in a second.
const maxSites = 8

// Of returns the sum of an operation, nil without calls.
func (s *Second) Of(op event.Op) *Sum {
	for i := range s.Ops {
		if s.Ops[i].Op == op {
			return &s.Ops[i]
		}
	}
	return nil
}

// finder searches for changes of one thread.
type finder struct {
	t     *Thread
	op    event.Op // operation whose calls are counted
	width uint64   // of a second, ns
	list  []Second // seconds in which steps ended, by time
	steps []float64
	least int // seconds per part
}

// Find finds the changes of a thread, by time. Each second lasts width ns.
func Find(t *Thread, seconds []Second, width uint64) []report.Change {
	f := finder{t: t, width: width, op: steadiest(t, seconds)}
	for i := range seconds {
		if s := seconds[i].Of(f.op); s != nil && s.Calls > 0 {
			f.list = append(f.list, seconds[i])
			f.steps = append(f.steps, float64(s.Calls))
		}
	}
	f.least = max(2, int((minSeconds*uint64(time.Second)+width-1)/width))
	duration := make([]float64, len(f.steps)) // per step, as a share of the usual one
	logs := make([]float64, len(f.steps))
	usual := stats.Middle(f.steps)
	for i, n := range f.steps {
		duration[i] = usual / n
		logs[i] = math.Log(duration[i])
	}
	if d, ok := f.drift(duration); ok {
		return d
	}
	if d, ok := f.drift(logs); ok {
		return d
	}
	if list := f.levels(logs); len(list) > 0 {
		return list
	}
	return f.unsteady(logs)
}

// steadiest returns, of the operations called once per step, the one with the steadiest number of launches per call
// over time. If steps begin to wait twice, the waits no longer count them.
func steadiest(t *Thread, seconds []Second) event.Op {
	best, least := t.Op, math.Inf(1)
	for i, op := range append([]event.Op{t.Op}, t.Once...) {
		var ratios []float64
		for i := range seconds {
			if s, n := seconds[i].Of(op), seconds[i].launches(); s != nil && s.Calls > 0 && n > 0 {
				ratios = append(ratios, math.Log(float64(n)/float64(s.Calls)))
			}
		}
		if 2*len(ratios) < len(seconds) {
			continue
		}
		middle, vary := stats.Middle(ratios), 0.0
		for _, r := range ratios {
			vary += math.Abs(r-middle) / float64(len(ratios))
		}
		if i == 0 || vary < least-noise {
			best, least = op, vary
		}
	}
	return best
}

func (s *Second) launches() (n uint64) {
	for i := range s.Ops {
		if s.Ops[i].Op.Role() == event.RoleLaunch {
			n += s.Ops[i].Calls
		}
	}
	return n
}

// part is a run of seconds with steps of about the same length.
type part struct {
	from, to int
	level    float64 // logarithm of a step's duration
}

// parts returns the parts of different levels. Neighbours without a change between them are joined: a second with
// both levels makes a part of its own with its neighbours.
func (f *finder) parts(logs []float64) []part {
	begins := append(stats.Segments(logs, f.least, noise), len(logs))
	var list []part
	for i := range len(begins) - 1 {
		p := part{begins[i], begins[i+1], stats.Middle(logs[begins[i]:begins[i+1]])}
		if n := len(list); n > 0 && math.Abs(list[n-1].level-p.level) < math.Log(minRatio) {
			p.from = list[n-1].from
			p.level = stats.Middle(logs[p.from:p.to])
			list = list[:n-1]
		}
		list = append(list, p)
	}
	return list
}

// levels returns the changes that stay, if each part after them is slower than each part before, and a slow time that
// ends, if there is only one: more than one are alternating phases.
func (f *finder) levels(logs []float64) (list []report.Change) {
	parts := warm(f.parts(logs), len(logs))
	slow := -1
	for i, n := 1, 0; i+1 < len(parts); i++ {
		if over(parts[i-1:i], parts[i:i+1]) && over(parts[i+1:i+2], parts[i:i+1]) &&
			math.Abs(parts[i+1].level-parts[i-1].level) < math.Log(minRatio) {
			if slow, n = i, n+1; n > 1 {
				slow = -1
				break
			}
		}
	}
	if slow > 0 {
		if c, ok := f.event(parts[slow-1], parts[slow], parts[slow+1]); ok {
			list = append(list, c)
		}
		parts = slices.Delete(slices.Clone(parts), slow, slow+1)
	}
	for i := 1; i < len(parts); i++ {
		if !over(parts[:i], parts[i:]) {
			continue
		}
		if c, ok := f.level(parts[i-1], parts[i]); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b report.Change) int { return cmp.Compare(a.AtNS, b.AtNS) })
	return list
}

// longestWarmUp is the share of the seconds that warm-up takes at most.
const longestWarmUp = 0.25

// warm leaves out a first part that is slower than all others: it loads, compiles and fills caches.
func warm(parts []part, seconds int) []part {
	if len(parts) > 1 && float64(parts[0].to) <= longestWarmUp*float64(seconds) && over(parts[1:], parts[:1]) {
		return parts[1:]
	}
	return parts
}

// over reports whether each part of b is slower than each of a.
func over(a, b []part) bool {
	level := func(p, q part) int { return cmp.Compare(p.level, q.level) }
	return slices.MinFunc(b, level).level-slices.MaxFunc(a, level).level >= math.Log(minRatio)
}

// level describes a change that stays. The seconds next to it may have both levels, and are ignored.
func (f *finder) level(before, after part) (report.Change, bool) {
	c := report.Change{Kind: report.ChangeLevel, AtNS: f.moment(before, after)}
	return f.describe(c, part{before.from, before.to - 1, 0}, part{after.from + 1, after.to, 0}, f.total(after))
}

// event describes a slow time that ends. If its steps make other calls, it is another phase, such as a validation; if
// it has seconds without steps, it is a pause. Neither is reported.
func (f *finder) event(before, slow, after part) (report.Change, bool) {
	if passed := f.list[after.from].At - f.list[before.to-1].At; passed > uint64(after.from-before.to+1)*f.width {
		return report.Change{}, false
	}
	c := report.Change{
		Kind: report.ChangeOnce, AtNS: f.moment(before, slow), UntilNS: f.moment(slow, after),
	}
	inner := slow
	if slow.to-slow.from > 2 {
		inner.from, inner.to = slow.from+1, slow.to-1
	}
	a, b := f.meanStep(f.list[before.from:before.to-1]), f.meanStep(f.list[inner.from:inner.to])
	c, ok := f.describe(c, part{before.from, before.to - 1, 0}, inner, f.total(slow))
	return c, ok && sameCalls(a, b) && c.MoreWork == "" && !c.Between && !c.Elsewhere
}

// drift describes steps that take ever longer, up to the end.
func (f *finder) drift(v []float64) ([]report.Change, bool) {
	d, ok := stats.FindDrift(v, f.least, noise)
	if !ok {
		return nil, false
	}
	n := len(v)
	ends := max(f.least, (n-d.From)/5) // seconds at the begin and at the end to compare
	first := part{max(0, min(d.From+1-ends, n-2*ends)), 0, 0}
	first.to = max(first.from+ends, d.From+1)
	last := part{n - ends, n, 0}
	if first.to > last.from {
		return nil, true // too short to say
	}
	c := report.Change{Kind: report.ChangeDrift, AtNS: f.list[d.From].At}
	c, ok = f.describe(c, first, last, f.total(part{d.From, n, 0})/2) // half of it, as it grows
	middle := func(p part) float64 { return float64(f.list[p.from].At+f.list[p.to-1].At) / 2 }
	minutes := (middle(last) - math.Max(middle(first), float64(c.AtNS))) / float64(time.Minute)
	if !ok || float64(c.AfterNS) < minRatio*float64(c.BeforeNS) || minutes <= 0 {
		return nil, true // not a drift for the worse; it has no levels either
	}
	c.PerMinuteNS = uint64(math.Round(float64(c.AfterNS-c.BeforeNS) / minutes))
	c.Summary = c.Sentence()
	return []report.Change{c}, true
}

// total returns the number of steps in a part.
func (f *finder) total(p part) (n float64) {
	for _, s := range f.steps[p.from:p.to] {
		n += s
	}
	return n
}

// moment returns when one part became the next, Unix ns. The numbers of steps in the seconds before and after it show
// how many of them had the former speed.
func (f *finder) moment(before, after part) uint64 {
	a, b := f.steps[before.from:before.to], f.steps[after.from:after.to]
	x, y := stats.Middle(a[:len(a)-1]), stats.Middle(b[1:])
	share := func(steps float64) float64 { return math.Min(1, math.Max(0, (steps-y)/(x-y))) }
	return f.list[before.to-1].At + uint64((share(a[len(a)-1])+share(b[0]))*float64(f.width))
}
