package diagnose

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/account/stats"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/difference"
	"github.com/ingero-io/ingero/explain/report"
)

// Steps that take longer from some time on are reported, whatever the cause: a program that began
// to wait more often loses no time by any single call. Only a change for the worse that stays is
// reported: each part after it is slower than each part before it. Phases that take turns, such as
// training and validation, and warm-up are not; nor is what a finding explains.

const (
	minChangeSeconds = 3    // of each part
	minChange        = 1.10 // ratio of the fastest part after to the slowest before
	changeNoise      = 0.01 // standard deviation below which no series is taken to be, as a share
	maxChangeIdle    = 10   // percent of the time: a thread that waits for work has no steady steps
	maxChangeParts   = 4
)

// stepSecond is a part of the series in which steps ended: a second, or several in a long recording.
type stepSecond struct {
	at    uint64 // Unix ns
	steps float64
}

// changes finds the largest change of each thread that the findings do not explain, those that lost
// most first.
func (ev *evidence) changes(chains []report.Chain) []report.Change {
	var list []report.Change
	for _, t := range ev.subjects {
		idle, _ := ev.calls.idleOf(t)
		if t.count == 0 || t.steps.Least > 0 || percent(idle, t.wall()) > maxChangeIdle {
			continue
		}
		all := ev.changesOf(t)
		slices.SortStableFunc(all, largestFirst)
		if len(all) > 0 && !explained(&all[0], chains) {
			list = append(list, all[0])
		}
	}
	slices.SortStableFunc(list, largestFirst)
	return list
}

func largestFirst(a, b report.Change) int { return cmp.Compare(b.LostNS, a.LostNS) }

// explained reports whether a thread's findings lost half of what a change lost, or more.
func explained(c *report.Change, chains []report.Chain) bool {
	var lost uint64
	for i := range chains {
		if e := &chains[i].Effect; e.PID == c.PID && e.TID == c.TID {
			lost += chains[i].LostNS
		}
	}
	return lost >= c.LostNS/2
}

// changeVerdict is a change in one sentence, if steps take longer though they launch no more and the
// thread does not wait longer between calls: then it may be that there is less to do.
func changeVerdict(list []report.Change) string {
	for i := range list {
		c := &list[i]
		if c.MoreWork == "" && !c.Between {
			return c.Summary
		}
	}
	return ""
}

func (ev *evidence) changesOf(t *subject) []report.Change {
	width := max(ev.in.SeriesStep, 1) * uint64(time.Second)
	seconds := ev.stepSeconds(t, width)
	y := make([]float64, len(seconds))
	for i := range seconds {
		y[i] = math.Log(float64(width) / seconds[i].steps)
	}
	least := max(2, int((minChangeSeconds*uint64(time.Second)+width-1)/width))
	begins := stats.Segments(y, least, changeNoise)
	level := make([]float64, len(begins))
	end := func(i int) int {
		if i+1 < len(begins) {
			return begins[i+1]
		}
		return len(y)
	}
	for i, from := range begins {
		level[i] = stats.Middle(y[from:end(i)])
	}
	var list []report.Change
	for i := 1; i < len(begins); i++ {
		if slices.Min(level[i:])-slices.Max(level[:i]) < math.Log(minChange) {
			continue
		}
		before, after := seconds[begins[i-1]:begins[i]], seconds[begins[i]:end(i)]
		list = append(list, ev.change(t, before, after, width))
	}
	return list
}

// stepSeconds are the steps that ended in each part of the series in which the thread worked from
// begin to end. Parts in which no step ended are left out: a stall is not a level.
func (ev *evidence) stepSeconds(t *subject, width uint64) (list []stepSecond) {
	for _, o := range ev.calls.series[threadOp{t.Thread, t.steps.Op}] {
		at := o.Second * uint64(time.Second)
		if o.Calls > 0 && at >= t.from && at+width <= t.to {
			list = append(list, stepSecond{at, float64(o.Calls)})
		}
	}
	slices.SortFunc(list, func(a, b stepSecond) int { return cmp.Compare(a.at, b.at) })
	return list
}

// change describes a change between two parts of the time. Each has at least two seconds; those
// next to the change may be of both kinds, and count for neither.
func (ev *evidence) change(t *subject, before, after []stepSecond, width uint64) report.Change {
	at := moment(before, after, width)
	a := ev.meanStep(t, before[:len(before)-1], width)
	b := ev.meanStep(t, after[1:], width)
	c := report.Change{
		AtNS: at, Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID,
		BeforeNS: uint64(math.Round(a.NS)), AfterNS: uint64(math.Round(b.NS)), Parts: []report.ChangePart{},
	}
	var steps float64
	for i := range after {
		steps += after[i].steps
	}
	c.LostNS = uint64(math.Round(math.Max(0, b.NS-a.NS) * steps))
	c.MoreWork = moreWork(a, b)
	c.Between = b.Between[difference.Unknown]-a.Between[difference.Unknown] > (b.NS-a.NS)/2
	rest := int64(math.Round(b.NS - a.NS))
	for _, p := range difference.Split(a, b) {
		if len(c.Parts) == maxChangeParts || math.Abs(p.NS) < 0.05*math.Abs(b.NS-a.NS) {
			break
		}
		ns := int64(math.Round(p.NS))
		c.Parts = append(c.Parts, report.ChangePart{NS: ns, What: p.Words()})
		rest -= ns
	}
	if rest != 0 {
		c.Parts = append(c.Parts, report.ChangePart{NS: rest, What: "all smaller parts"})
	}
	c.Summary = c.Sentence()
	return c
}

// moment is when a change happened, Unix ns. The numbers of steps in the second before it and in
// the one after say how much of them had the speed of before.
func moment(before, after []stepSecond, width uint64) uint64 {
	rate := func(list []stepSecond) float64 {
		var v []float64
		for i := range list {
			v = append(v, list[i].steps)
		}
		return stats.Middle(v)
	}
	fast, slow := rate(before[:len(before)-1]), rate(after[1:])
	share := func(s *stepSecond) float64 {
		return math.Min(1, math.Max(0, (s.steps-slow)/(fast-slow)))
	}
	last := &before[len(before)-1]
	return last.at + uint64((share(last)+share(&after[0]))*float64(width))
}

// meanStep is the mean step of some parts of the series, for which it is known how long calls took
// but not what the thread did meanwhile.
func (ev *evidence) meanStep(t *subject, list []stepSecond, width uint64) *difference.Share {
	s := &difference.Share{Ops: map[event.Op]*difference.OpShare{}}
	var steps float64
	for i := range list {
		steps += list[i].steps
	}
	s.NS = float64(len(list)) * float64(width) / steps
	in := 0.0
	for _, o := range t.ops {
		x := &difference.OpShare{}
		for _, q := range ev.calls.series[threadOp{t.Thread, o.Op}] {
			if at := q.Second * uint64(time.Second); within(list, at) {
				x.Calls += float64(q.Calls) / steps
				x.NS += float64(q.SumNS) / steps
			}
		}
		x.By[difference.Unknown] = x.NS
		if x.Calls > 0 {
			s.Ops[o.Op] = x
			in += x.NS
		}
	}
	s.Between[difference.Unknown] = s.NS - in
	return s
}

// moreWork says that steps launch so much more after a change that they may only have more to do.
func moreWork(a, b *difference.Share) string {
	launches := func(s *difference.Share) (n float64) {
		for op, x := range s.Ops {
			if op.Role() == event.RoleLaunch {
				n += x.Calls
			}
		}
		return n
	}
	x, y := launches(a), launches(b)
	if x == 0 || y/x < minChange || y/x*minChange < b.NS/a.NS {
		return ""
	}
	return difference.Number(y) + " instead of " + difference.Number(x) + " launches"
}

func within(list []stepSecond, at uint64) bool {
	_, found := slices.BinarySearchFunc(list, at, func(s stepSecond, at uint64) int { return cmp.Compare(s.at, at) })
	return found
}
