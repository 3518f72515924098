package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

// A wait grows if it is longer in each quarter of the time than in the quarter before, and a
// quarter longer in the last than in the first. If it had become longer suddenly, most of the
// growth would be between two quarters.
const (
	minGrowth     = 1.25
	maxAtOnce     = 0.6 // largest share of the growth between two quarters
	minPerQuarter = 8   // least calls in each quarter
)

// waitGrowth is how an operation's mean duration changed, ns.
type waitGrowth struct {
	first, last uint64 // medians over the seconds of the first and last quarter
	base        uint64 // at the start
	excess      uint64 // sum of what calls took beyond base
	calls       uint64 // after the first quarter
}

// growing finds out whether the calls of an operation take longer and longer. It takes the median
// over the seconds of a quarter, so that single slow calls do not count. Delays by the host are
// left out.
func (ev *evidence) growing(t *subject, op event.Op) (g waitGrowth, grows bool) {
	var means [4][]uint64
	var calls [4]uint64
	wall := t.wall()
	if wall == 0 || op.Role() != event.RoleSync && !blocks(op) {
		return g, false
	}
	var seconds []store.OpSecond
	lowest := ^uint64(0)
	launches := ev.launchesOf(t.PID)
	each := func(o *store.OpSecond) float64 { return float64(launches[o.Second]) / float64(o.Calls) }
	var work [4][]float64 // launches for each call
	for _, o := range ev.calls.series[threadOp{t.Thread, op}] {
		at := o.Second*1e9 + max(ev.in.SeriesStep, 1)*5e8
		if o.Calls == 0 || at < t.from || at >= t.to {
			continue
		}
		q := min(3, int(4*float64(at-t.from)/float64(wall)))
		means[q] = append(means[q], o.OwnNS()/o.Calls)
		work[q] = append(work[q], each(&o))
		calls[q] += o.Calls
		lowest = min(lowest, o.OwnNS()/o.Calls)
		seconds = append(seconds, o)
	}
	var m [4]float64
	var most float64 // growth from one quarter to the next
	for q := range means {
		if calls[q] < minPerQuarter {
			return g, false
		}
		m[q] = float64(stats.Upper(means[q]))
		if q > 0 && m[q] <= m[q-1] {
			return g, false
		}
		if q > 0 {
			most = max(most, m[q]-m[q-1])
		}
	}
	if m[3] < minGrowth*m[0] || m[3]-m[0] < float64(store.SlowExcess) || most > maxAtOnce*(m[3]-m[0]) {
		return g, false
	}
	first, last := stats.Upper(work[0]), stats.Upper(work[3])
	if first > 0 && last > first && m[3]/last < minGrowth*m[0]/first { // more launches explain the growth
		return g, false
	}
	// The base is extrapolated from the middle of the first quarter back to the start, along the
	// line to the middle of the last quarter.
	g = waitGrowth{first: uint64(m[0]), last: uint64(m[3]), calls: calls[1] + calls[2] + calls[3]}
	g.base = max(lowest, uint64(max(0, m[0]-(m[3]-m[0])/6)))
	for _, o := range seconds {
		more := 1.0
		if v := each(&o); first > 0 && v > first {
			more = v / first
		}
		g.excess += o.OwnNS() - min(o.OwnNS(), uint64(float64(o.Calls*g.base)*more))
	}
	return g, true
}

// aggregateGrowingWaits takes the time of waits for the GPU beyond what they took at the start, if
// they grow slowly or became longer suddenly. None of them is slow compared with those just before
// it.
func aggregateGrowingWaits(ev *evidence, t *subject) []claim {
	var claims []claim
	for _, o := range t.ops {
		g, ok := ev.growing(t, o.Op)
		if l, shifted := t.levels[o.Op]; shifted {
			g, ok = waitGrowth{base: l.usual, excess: l.excess, calls: l.calls - min(l.calls, t.slowCalls(o.Op, l.usual))}, true
		}
		if !ok || t.usual[o.Op] != 0 {
			continue
		}
		v := t.take(o, g.excess-min(g.excess, t.unattributed.taken[o.Op]))
		p := ev.calls.aggregateClaims(t, o, event.CauseGPUWait, event.Other, v, g.calls)
		for i := range p {
			p[i].acc.base = g.base
		}
		claims = append(claims, p...)
	}
	return claims
}

// slowCalls returns how many calls of an operation were claimed one by one because they were slow
// against usual, ns.
func (t *subject) slowCalls(op event.Op, usual uint64) (n uint64) {
	for i := range t.episodes {
		if e := &t.episodes[i]; e.Call != nil && e.Op == op && store.IsSlow(e.Duration, usual) {
			n++
		}
	}
	return n
}
