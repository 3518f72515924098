package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/explain/report"
)

// The patterns of lost time: the values of report.Pattern.Kind.
const (
	once      = "once"
	periodic  = "periodic"
	growing   = "growing"
	irregular = "irregular"
	constant  = "constant"
	mostly    = "burst" // lost all the time, but mostly in a part of it
)

// buckets is the resolution of a timeline.
const buckets = 40

// Thresholds of the patterns.
const (
	minTimes   = 5    // least stretches for a period
	dominant   = 0.8  // share of the lost time from which a stretch counts as the only one
	notable    = 0.1  // least share of the largest stretch, or of the timeline's largest part, for one to count
	jitter     = 0.25 // largest interquartile range of the intervals of a period, as a share of the median
	filled     = 0.8  // least share of the timeline for a constant loss, if it is notable in half of it
	grewBy     = 2.0  // least ratio of the last quarter of the timeline to the first
	joinFactor = 3    // median steps that may lie between two claims of a stretch
)

// stretch is an interval with lost time and no long pause, Unix ns; lost is in ns.
type stretch struct{ from, to, lost uint64 }

// pattern says when the time was lost.
func (f *finding) pattern(ev *evidence) *report.Pattern {
	if f.lost == 0 || ev.to <= ev.from {
		return nil
	}
	line := f.timeline(ev)
	list := f.stretches(ev)
	p := &report.Pattern{Kind: irregular, FromNS: line.from(ev, list), Times: len(list), Timeline: line}
	b, dense := f.burst(ev)
	switch period, ok := period(list); {
	case dense && (len(list) == 0 || !ok && line.covered(0) >= filled):
		p.Kind, p.Times, p.FromNS, p.ToNS, p.BurstPct = mostly, 1, b.from, b.to, round(b.pct)
	case len(list) == 0:
		p.Kind, p.Times = constant, 1
	case line.covered(0) < filled && (len(list) == 1 || float64(longest(list).lost) >= dominant*float64(f.lost)):
		p.Kind, p.Times, p.ToNS = once, 1, longest(list).to
		if f.growsWithin(longest(list)) {
			p.Kind, p.ToNS = growing, 0
		}
	case line.grows():
		p.Kind = growing
	case ok:
		p.Kind, p.PeriodNS = periodic, period
	case line.covered(0) >= filled && line.covered(notable) >= half:
		p.Kind = constant
	}
	return p
}

// from is when time was lost first: the begin of the first stretch in the first notable part of the
// timeline.
func (t timeline) from(ev *evidence, list []stretch) uint64 {
	least := notable * slices.Max(t)
	at := slices.IndexFunc(t, func(v float64) bool { return v > 0 && v >= least })
	begin := ev.from + uint64(max(at, 0))*(ev.to-ev.from)/uint64(len(t))
	for _, p := range list {
		if p.to > begin {
			return max(p.from, begin)
		}
	}
	return begin
}

// stretches joins the finding's claims that follow each other within a few steps, and drops the
// small stretches.
func (f *finding) stretches(ev *evidence) []stretch {
	var all []stretch
	for _, cl := range f.claims {
		if !cl.aggregate && cl.lost > 0 {
			all = append(all, stretch{cl.acc.Start, cl.acc.End(), cl.lost})
		}
	}
	slices.SortFunc(all, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.lost, b.lost))
	})
	pause := joinFactor * f.sub.steps.Quantile(0.5)
	var list []stretch
	for _, p := range all {
		if n := len(list); n > 0 && p.from <= list[n-1].to+pause {
			list[n-1].to = max(list[n-1].to, p.to)
			list[n-1].lost += p.lost
			continue
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil
	}
	least := notable * float64(longest(list).lost)
	return slices.DeleteFunc(list, func(p stretch) bool { return float64(p.lost) < least })
}

func longest(list []stretch) stretch {
	return slices.MaxFunc(list, func(a, b stretch) int { return cmp.Compare(a.lost, b.lost) })
}

// period is the median interval between stretches, ns, if most intervals are about equal.
func period(list []stretch) (uint64, bool) {
	if len(list) < minTimes {
		return 0, false
	}
	d := make([]uint64, 0, len(list))
	for i := 1; i < len(list); i++ {
		d = append(d, list[i].from-list[i-1].from)
	}
	slices.Sort(d)
	q := func(p float64) float64 { return float64(d[int(p*float64(len(d)-1))]) }
	if q(0.75)-q(0.25) > jitter*q(0.5) {
		return 0, false
	}
	return uint64(q(0.5)), true
}

// timeline is the share of lost time in each of equal parts of the window.
type timeline []float64

func (f *finding) timeline(ev *evidence) timeline {
	line := make(timeline, buckets)
	f.fill(line, ev, ev.from, ev.to)
	for i, v := range line {
		line[i] = math.Round(min(v, 1)*1000) / 1000
	}
	return line
}

// fill adds the lost time of each equal part of the time from begin to end, as a share of the part.
func (f *finding) fill(line timeline, ev *evidence, begin, end uint64) {
	width := float64(end-begin) / float64(len(line))
	for _, cl := range f.claims {
		if cl.aggregate {
			ev.calls.spread(line, cl, begin, end)
			continue
		}
		from := float64(max(cl.acc.Start, begin) - begin)
		to := from + float64(cl.lost)
		for i := int(from / width); i < len(line) && float64(i)*width < to; i++ {
			line[i] += max(0, min(to, float64(i+1)*width)-max(from, float64(i)*width)) / width
		}
	}
}

// covered is the share of the timeline's parts that lost something, and at least the given share of
// what the largest part lost.
func (t timeline) covered(share float64) float64 {
	n, least := 0, share*slices.Max(t)
	for _, v := range t {
		if v > 0 && v >= least {
			n++
		}
	}
	return float64(n) / float64(len(t))
}

// growsWithin reports whether the loss grows from the begin of a stretch to its end.
func (f *finding) growsWithin(of stretch) bool {
	line := make(timeline, 4)
	for _, cl := range f.claims {
		if at := cl.acc.Start; !cl.aggregate && at >= of.from && at < of.to {
			line[uint64(len(line))*(at-of.from)/(of.to-of.from)] += float64(cl.lost)
		}
	}
	return line.grows()
}

// grows reports whether each quarter lost more than the one before, and the last at least grewBy
// times as much as the first.
func (t timeline) grows() bool {
	var quarter [4]float64
	for i, v := range t {
		quarter[4*i/len(t)] += v
	}
	return quarter[0] < quarter[1] && quarter[1] < quarter[2] && quarter[2] < quarter[3] && quarter[3] >= grewBy*quarter[0]
}
