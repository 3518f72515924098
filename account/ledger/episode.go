package ledger

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/event"
)

// Episode is a span of a dispatching thread's time in which time may have been lost: an outermost call, or the gap
// between two.
type Episode struct {
	Start, Duration uint64
	Thread          event.Thread
	Op              event.Op    // the call; for a gap, the call that ended it
	Call            *event.Call // nil for a gap
	Ledger          event.Ledger
	Rows            []*event.OffCPU // the thread's intervals in it, by start
	Nested          []*event.Call   // calls made by the call
	Reclaims        []Reclaimed     // memory reclaim in it, see PlaceReclaims
}

// End returns the Unix time in ns at which the episode ended.
func (e *Episode) End() uint64 { return e.Start + e.Duration }

// Split splits the episode's time by its ledger.
func (e *Episode) Split() Split { return SplitOf(e.Duration, &e.Ledger) }

// Episodes returns the calls and gaps of every thread by time. Nested calls are added to their outermost call, where
// their time is counted once. An off-CPU interval of a dispatching thread outside all episodes becomes an episode
// itself: the gap around it may have been dropped, or not stored because its wait was short.
func Episodes(calls []event.Call, gaps []event.Gap, rows []event.OffCPU) map[event.Thread][]Episode {
	by := collect(calls, gaps)
	for t := range by {
		order(by[t])
	}
	for i := range calls {
		if c := &calls[i]; c.Depth > 0 {
			if e := around(by[c.Thread], c.Start); e != nil && e.Call != nil {
				e.Nested = append(e.Nested, c)
			}
		}
	}
	placeRows(by, rows)
	for t := range by {
		order(by[t])
		for i := range by[t] {
			e := &by[t][i]
			slices.SortFunc(e.Rows, compareRows)
			slices.SortFunc(e.Nested, func(a, b *event.Call) int {
				return cmp.Or(-cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Op, b.Op))
			})
		}
	}
	return by
}

// collect makes the episodes of calls and gaps. If both are ordered by time, as they are when read, so are the
// episodes.
func collect(calls []event.Call, gaps []event.Gap) map[event.Thread][]Episode {
	by := room(calls, gaps)
	addGaps := func(until uint64) {
		for ; len(gaps) > 0 && gaps[0].Start < until; gaps = gaps[1:] {
			g := &gaps[0]
			by[g.Thread] = append(by[g.Thread], Episode{
				Start: g.Start, Duration: g.Duration, Thread: g.Thread, Op: g.Next, Ledger: g.Ledger,
			})
		}
	}
	for i := range calls {
		if c := &calls[i]; c.Depth == 0 {
			addGaps(c.Start)
			by[c.Thread] = append(by[c.Thread], Episode{
				Start: c.Start, Duration: c.Duration, Thread: c.Thread, Op: c.Op, Call: c, Ledger: c.Ledger,
			})
		}
	}
	addGaps(math.MaxUint64)
	return by
}

// room allocates the list of episodes for each thread: an episode is large, and a growing list would be copied
// repeatedly.
func room(calls []event.Call, gaps []event.Gap) map[event.Thread][]Episode {
	n := map[event.Thread]int{}
	for i := range calls {
		if calls[i].Depth == 0 {
			n[calls[i].Thread]++
		}
	}
	for i := range gaps {
		n[gaps[i].Thread]++
	}
	by := make(map[event.Thread][]Episode, len(n))
	for t, n := range n {
		by[t] = make([]Episode, 0, n)
	}
	return by
}

func placeRows(by map[event.Thread][]Episode, rows []event.OffCPU) {
	single := map[event.Thread][]Episode{}
	for i := range rows {
		o := &rows[i]
		list := by[o.Thread]
		if len(list) == 0 && !o.Dispatch {
			continue
		}
		if e := around(list, o.Start); e != nil {
			e.Rows = append(e.Rows, o)
			continue
		}
		single[o.Thread] = append(single[o.Thread], Episode{
			Start: o.Start, Duration: o.Duration, Thread: o.Thread, Rows: []*event.OffCPU{o}, Ledger: Of(o),
		})
	}
	for t, list := range single {
		by[t] = append(by[t], list...)
	}
}

// Of returns what an interval adds to its thread's ledger.
func Of(o *event.OffCPU) (l event.Ledger) {
	queue := min(o.RunQueue, o.Duration)
	l.NS[o.Class] = o.Duration - queue
	if o.Class == event.Throttled {
		l.NS[event.Throttled] += queue
	} else {
		l.NS[event.RunQueue] += queue
	}
	return l
}

// order sorts episodes by time. The order is total, so it does not depend on the order of the input.
func order(list []Episode) {
	SortStable(list, func(e *Episode) Key { return Key{e.Start, ^e.Duration} }, func(a, b *Episode) int {
		return cmp.Or(
			cmp.Compare(a.Op, b.Op), cmp.Compare(a.Ledger.Total(), b.Ledger.Total()),
			slices.Compare(a.Ledger.NS[:], b.Ledger.NS[:]), compareCalls(a.Call, b.Call))
	})
}

func compareCalls(a, b *event.Call) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Or(slices.Compare(a.Args[:], b.Args[:]), cmp.Compare(a.Weight, b.Weight))
}

// around finds the episode that contains a time.
func around(list []Episode, at uint64) *Episode {
	i := sort.Search(len(list), func(i int) bool { return list[i].Start > at })
	if i == 0 || list[i-1].End() < at {
		return nil
	}
	// The end of a gap is the start of the call after it: that time belongs to the later one, unless its duration is 0.
	if i > 1 && list[i-1].Duration == 0 && list[i-2].End() >= at {
		return &list[i-2]
	}
	return &list[i-1]
}
