// Package pattern says when in a window time was lost, and whether the loss comes again. It knows the
// times only, not what they were lost to.
package pattern

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

// The patterns of lost time: the values of report.Pattern.Kind.
const (
	Once      = "once"
	Periodic  = "periodic"
	Growing   = "growing"
	Irregular = "irregular"
	Constant  = "constant"
	Burst     = "burst" // lost all the time, but mostly in a part of it
)

// What counts as regular.
const (
	MinTimes = 5    // least stretches for a period
	Jitter   = 0.25 // largest interquartile range of the intervals of a period, as a share of the median
)

// Thresholds of the other patterns.
const (
	dominant = 0.8 // share of the lost time from which a stretch counts as the only one
	notable  = 0.1 // least share of the largest stretch, or of the timeline's largest part, for one to count
	filled   = 0.8 // least share of the timeline for a constant loss, if it is notable in half of it
	half     = 0.5
	grewBy   = 2.0 // least ratio of the last quarter of the timeline to the first
)

// Stretch is an interval with lost time, Unix ns. Lost is in ns.
type Stretch struct{ From, To, Lost uint64 }

// Loss is the time lost in a window.
type Loss struct {
	From, To uint64    // the window, Unix ns
	NS       uint64    // all of the lost time
	Pieces   []Stretch // those that are known one by one; Pattern sorts them
	Pause    uint64    // the longest time, ns, between two pieces of one stretch
	Timeline Timeline  // all of the lost time by parts of the window
	Fine     Timeline  // the same by smaller parts, see NewFine
}

// Pattern says when the time was lost, nil if none was lost.
func (l *Loss) Pattern() *report.Pattern {
	if l.NS == 0 || l.To <= l.From {
		return nil
	}
	line, list := l.Timeline, l.stretches()
	p := &report.Pattern{Kind: Irregular, FromNS: l.first(list), Times: len(list), Timeline: line}
	b, dense := l.burst()
	switch period, ok := period(list); {
	case dense && (len(list) == 0 || !ok && line.covered(0) >= filled):
		p.Kind, p.Times, p.FromNS, p.ToNS, p.BurstPct = Burst, 1, b.from, b.to, math.Round(10*b.pct)/10
	case len(list) == 0:
		p.Kind, p.Times = Constant, 1
	case line.covered(0) < filled && (len(list) == 1 || float64(longest(list).Lost) >= dominant*float64(l.NS)):
		p.Kind, p.Times, p.ToNS = Once, 1, longest(list).To
		if l.growsWithin(longest(list)) {
			p.Kind, p.ToNS = Growing, 0
		}
	case line.grows():
		p.Kind = Growing
	case ok:
		p.Kind, p.PeriodNS = Periodic, period
	case line.covered(0) >= filled && line.covered(notable) >= half:
		p.Kind = Constant
	}
	return p
}

// first returns when time was lost first: the begin of the first stretch in the first notable part of the
// timeline.
func (l *Loss) first(list []Stretch) uint64 {
	least := notable * slices.Max(l.Timeline)
	at := slices.IndexFunc(l.Timeline, func(v float64) bool { return v > 0 && v >= least })
	begin := l.From + uint64(max(at, 0))*(l.To-l.From)/uint64(len(l.Timeline))
	for _, p := range list {
		if p.To > begin {
			return max(p.From, begin)
		}
	}
	return begin
}

// stretches joins the pieces between which there is no longer pause, and drops the small stretches.
func (l *Loss) stretches() []Stretch {
	slices.SortFunc(l.Pieces, func(a, b Stretch) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Lost, b.Lost))
	})
	var list []Stretch
	for _, p := range l.Pieces {
		if n := len(list); n > 0 && p.From <= list[n-1].To+l.Pause {
			list[n-1].To = max(list[n-1].To, p.To)
			list[n-1].Lost += p.Lost
			continue
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil
	}
	least := notable * float64(longest(list).Lost)
	return slices.DeleteFunc(list, func(p Stretch) bool { return float64(p.Lost) < least })
}

func longest(list []Stretch) Stretch {
	return slices.MaxFunc(list, func(a, b Stretch) int { return cmp.Compare(a.Lost, b.Lost) })
}

// period returns the median interval between stretches, ns, if most intervals are about equal.
func period(list []Stretch) (uint64, bool) {
	if len(list) < MinTimes {
		return 0, false
	}
	d := make([]uint64, 0, len(list))
	for i := 1; i < len(list); i++ {
		d = append(d, list[i].From-list[i-1].From)
	}
	slices.Sort(d)
	q := func(p float64) float64 { return float64(stats.Floor(d, p)) }
	if q(0.75)-q(0.25) > Jitter*q(0.5) {
		return 0, false
	}
	return uint64(q(0.5)), true
}

// growsWithin reports whether the loss grows from the begin of a stretch to its end.
func (l *Loss) growsWithin(of Stretch) bool {
	line := make(Timeline, 4)
	for _, p := range l.Pieces {
		if p.From >= of.From && p.From < of.To {
			line[uint64(len(line))*(p.From-of.From)/(of.To-of.From)] += float64(p.Lost)
		}
	}
	return line.grows()
}
