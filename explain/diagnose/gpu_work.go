package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// A wait for the GPU is compared with waits for the same work: a program may wait many times with
// nothing queued, and now and then for real work.
const (
	minSameWork = 2     // least number of waits for the same work; low, so that rare work is not compared with other work
	emptyWait   = 20e3  // ns; half of an operation's calls shorter than this found nothing queued (2 to 10 us)
	unlikeWaits = 2.0   // if the usual wait for work takes so many times the median, the median is of other waits
	longWait    = 100e3 // ns; the least excess of a slow call, too (store.SlowExcess)
	mixedWork   = 3.0   // ratio of the 90th percentile of long waits to their median above which their work differs
)

// readWork finds how long waits for each kind of work usually take, where a thread's calls show the
// work. Where the recording is thinned, only the length of a wait tells whether there was work.
func (ev *evidence) readWork() {
	by := map[event.Thread][]ledger.Wait{}
	thinned := map[uint32]bool{}
	for _, span := range ev.in.Spans {
		for pid, calls := range outermostByProcess(span) {
			list, exact := ledger.Waits(calls, blocks)
			if !exact {
				thinned[pid] = true
			}
			for _, w := range list {
				by[w.Thread] = append(by[w.Thread], w)
			}
		}
	}
	seldom := ev.calls.seldomWaits()
	for _, t := range ev.subjects {
		t.usualWork, t.waitWork, t.later = map[event.Op]uint64{}, map[uint64]uint64{}, map[uint64]uint64{}
		t.siteWork = map[opSite]uint64{}
		known := seldom[t.Thread]
		if !thinned[t.PID] {
			known = append(known, by[t.Thread]...)
		}
		t.byWork(distinct(known))
		ev.byLength(t)
		for op, v := range t.usualWork { // where the median is of the same waits, it is more exact
			if st := ev.calls.stats[threadOp{t.Thread, op}]; st == nil || float64(v) < unlikeWaits*float64(ev.calls.median(st)) {
				delete(t.usualWork, op)
			}
		}
	}
}

// seldomWaits returns the waits of threads that seldom wait, by thread, if all their work is known.
// They are usable in a thinned recording, too.
func (cs *callStats) seldomWaits() map[event.Thread][]ledger.Wait {
	by := map[event.Thread][]ledger.Wait{}
	for _, span := range cs.in.Seldom {
		for _, calls := range outermostByProcess(span) {
			list, _ := ledger.Waits(calls, blocks)
			for _, w := range list {
				if w.Known() {
					by[w.Thread] = append(by[w.Thread], w)
				}
			}
		}
	}
	return by
}

// distinct removes duplicates from the waits of a thread: spans may overlap.
func distinct(waits []ledger.Wait) []ledger.Wait {
	have := map[uint64]bool{}
	return slices.DeleteFunc(waits, func(w ledger.Wait) bool {
		seen := have[w.Start]
		have[w.Start] = true
		return seen
	})
}

func outermostByProcess(span []event.CallTime) map[uint32][]event.CallTime {
	n := map[uint32]int{}
	for i := range span {
		if span[i].Depth == 0 {
			n[span[i].PID]++
		}
	}
	by := make(map[uint32][]event.CallTime, len(n))
	for pid, calls := range n {
		by[pid] = make([]event.CallTime, 0, calls)
	}
	for i := range span {
		if c := &span[i]; c.Depth == 0 {
			by[c.PID] = append(by[c.PID], *c)
		}
	}
	order := func(a, b event.CallTime) int { return cmp.Or(ledger.InOrder(a, b), cmp.Compare(a.TID, b.TID)) }
	for _, calls := range by {
		if !slices.IsSortedFunc(calls, order) { // of a process with one thread they are
			slices.SortFunc(calls, order)
		}
	}
	return by
}

// byWork takes the median of waits for the same work. A wait whose work is not known is compared
// with the work that takes longest.
func (t *subject) byWork(waits []ledger.Wait) {
	type same struct {
		opSite
		work ledger.Work
	}
	took, cycles := map[same][]uint64{}, map[same][]cycle{}
	for i := range waits {
		if w := &waits[i]; !w.Work.Empty() {
			k := same{opSite{w.Op, w.Site}, w.Work.Size()}
			took[k] = append(took[k], w.Duration)
			cycles[k] = append(cycles[k], cycle{w.Start, w.Took()})
		}
	}
	for _, c := range cycles {
		t.compare(c)
	}
	usual := map[same]uint64{}
	for k, v := range took {
		if len(v) >= minSameWork {
			usual[k] = stats.Median(v)
			t.usualWork[k.op] = max(t.usualWork[k.op], usual[k])
			t.siteWork[k.opSite] = max(t.siteWork[k.opSite], usual[k])
		}
	}
	for i := range waits {
		w := &waits[i]
		if v := usual[same{opSite{w.Op, w.Site}, w.Work.Size()}]; v > 0 {
			t.waitWork[w.Start] = v
		}
	}
}

// byLength takes the median of an operation's long waits, if most of its calls found nothing queued
// and the work is not known otherwise. Long waits are always recorded one by one.
func (ev *evidence) byLength(t *subject) {
	for op, waits := range ev.calls.longWaits(t) {
		durations := make([]uint64, len(waits))
		for i := range waits {
			durations[i] = waits[i].call.Duration
		}
		usual := stats.Median(durations)
		if most := stats.Percentile(durations, 0.9); float64(most) > mixedWork*float64(usual) &&
			!ev.sameThroughout(t, waits) {
			t.usualWork[op] = stats.Percentile(durations, 0.95)
			continue
		}
		t.usualWork[op] = usual
		t.compare(cyclesOf(waits))
	}
}

// usualFor returns what a wait for the work of a call usually takes, ns; 0 if the median of its
// operation is to be used.
func (t *subject) usualFor(c *event.Call) uint64 {
	if v := t.usualCollective[c.Start]; v > 0 {
		return max(v, t.usual[c.Op])
	}
	if t.usualWork[c.Op] == 0 {
		return t.usual[c.Op]
	}
	if v := t.waitWork[c.Start]; v > 0 {
		return v
	}
	return max(t.usual[c.Op], t.usualWork[c.Op])
}

// ofWork reports whether a call is compared with waits for the same work.
func (a *account) ofWork() bool {
	return a.Call != nil && !a.bySite && a.sub.usualWork[a.Op] != 0 && a.base != 0
}

// slower says since when waits take longer, and by which factor.
func slower(claims claimList, base uint64) string {
	first := ^uint64(0)
	var sum, n uint64
	for _, cl := range claims {
		if !cl.aggregate {
			first = min(first, cl.acc.Start)
			sum += cl.acc.Duration
			n++
		}
	}
	if n == 0 || base == 0 {
		return ""
	}
	return fmt.Sprintf("; since %s these waits took %.1f times as long as waits for the same work usually do",
		clockOf(first/1e9), float64(sum/n)/float64(base))
}
