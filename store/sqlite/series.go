package sqlite

import (
	"math/rand/v2"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

const second = 1_000_000_000

// series is the writer's state of one operation on one thread: of its calls within other ones, or
// of its other calls.
type series struct {
	of       *generation
	thread   *thread
	id       event.Thread
	op       event.Op
	nested   bool
	whole    bool // every call of it is stored
	bytesArg int

	tellsSite bool        // its calls record where they were made
	sites     []*callSite // call sites; the first one is all sites beyond the limit

	seen   uint64 // calls so far
	median medianOf
	sum    *callSum // of the second being filled

	part   part // that has the calls of group and extent
	group  group
	extent extent
}

// extent is the shortest and longest call of a part of time so far.
type extent struct {
	any      bool
	min, max uint64
}

// widen includes a call, and reports whether it was the longest or the shortest so far. Such calls
// are stored: a dozen of a thousand, so that max and min are exact in every second, and for every label.
func (r *extent) widen(ns uint64) bool {
	switch {
	case !r.any:
		*r = extent{true, ns, ns}
	case ns > r.max:
		r.max = ns
	case ns < r.min:
		r.min = ns
	default:
		return false
	}
	return true
}

// seriesKey packs a thread id, an operation and whether its calls are nested. A thread id belongs
// to one process at a time.
func seriesKey(tid uint32, op event.Op, nested bool) uint64 {
	key := uint64(tid)<<17 | uint64(op)
	if nested {
		key |= 1 << 16
	}
	return key
}

// callSum is a row of call_second.
type callSum struct {
	second uint64
	id     int64 // 0 until it was first written
	thread *thread
	op     event.Op
	nested bool
	calls  uint64
	errors uint64
	sum    uint64
	max    uint64
	bytes  uint64
	first  uint64
	last   uint64
	ledger event.Ledger
	hist   stats.Histogram
	dirty  bool
}

func (s *callSum) add(c *event.Call, weight uint64, bytesArg int, off bool) {
	s.dirty = true
	s.calls += weight
	s.sum += c.Duration * weight
	s.max = max(s.max, c.Duration)
	s.last = max(s.last, c.End())
	if c.Start < s.first {
		s.first = c.Start
	}
	if c.Failed() {
		s.errors += weight
	}
	if bytesArg >= 0 {
		s.bytes += c.Args[bytesArg] * weight
	}
	if off {
		s.ledger.Add(&c.Ledger)
	}
	s.hist.AddN(c.Duration, uint32(weight))
}

// medianOf follows the median duration of a series with the histograms of the roll-ups: that of the
// current second while it is the first, then those of the last completed seconds, at least
// minSample values.
type medianOf struct {
	value      uint64
	prev, cur  stats.Histogram
	overSecond bool
}

const minSample = 64

// rolled takes over the histogram of a completed second.
func (m *medianOf) rolled(h *stats.Histogram) {
	m.overSecond = true
	m.cur.Merge(h)
	if m.cur.Count() < minSample {
		if m.prev.Count() == 0 {
			m.value = m.cur.Quantile(0.5)
		}
		return
	}
	m.value = m.cur.Quantile(0.5)
	m.prev, m.cur = m.cur, m.prev
	m.cur.Reset()
}

// counted is called after each call of a series; h is the current second's.
func (m *medianOf) counted(n uint64, h *stats.Histogram) {
	if m.overSecond || (n&(n-1) != 0 && n&255 != 0) {
		return
	}
	m.value = h.Quantile(0.5)
}

// group is a run of calls of a series of which one will be stored. They start within one part of the
// time, so that sums over seconds and labels stay exact.
type group struct {
	n      uint32 // calls in it so far
	weight uint32
	ns     uint64     // their duration in total
	size   uint64     // their size in total, if the operation has a size
	mixed  bool       // not all have the same size
	chosen event.Call // one of the n, chosen uniformly
}

// add adds a call to the group and reports whether it is complete.
func (g *group) add(c *event.Call, weight, size uint32, bytesArg int, rng *rand.PCG) bool {
	if bytesArg >= 0 {
		g.mixed = g.mixed || g.n > 0 && c.Args[bytesArg] != g.chosen.Args[bytesArg]
		g.size += c.Args[bytesArg] * uint64(weight)
	}
	g.n++
	g.weight += weight
	g.ns += c.Duration * uint64(weight)
	if g.n == 1 || uint64(uint32(rng.Uint64()))*uint64(g.n)>>32 == 0 {
		g.chosen = *c
	}
	return g.n >= size
}

// take empties the group and returns the call that represents it.
func (g *group) take(s *series) pendingCall {
	p := pendingCall{Call: g.chosen, series: s, rest: g.ns - g.chosen.Duration, mixed: g.mixed}
	if g.mixed {
		p.restSize = g.size - g.chosen.Args[s.bytesArg]
	}
	p.Weight = g.weight
	*g = group{}
	return p
}

// isNotable reports whether a call is visited one by one; first is whether it is the first of its
// series.
func isNotable(c *event.Call, median uint64, first, off bool) bool {
	return first || c.Failed() || store.IsSlow(c.Duration, median) || store.IsBulkCopy(c) ||
		off && store.WaitNS(&c.Ledger) >= uint64(store.NotableWait)
}
