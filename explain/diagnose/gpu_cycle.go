package diagnose

import (
	"math"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/account/stats"
	"github.com/ingero-io/ingero/event"
)

// The GPU begins with the first of the work that a thread hands over, not with the wait for
// it: where the host launches faster, the wait is longer and the work takes no longer. What a
// wait takes beyond the usual is lost only as far as its cycle is longer than usual, too.

// cycle is the time that the GPU had for the work of a wait, ns.
type cycle struct{ wait, took uint64 } // the wait's start; up to its end

const (
	minCycles    = 10   // that say what is usual
	usualCycle   = 0.25 // the quantile that does: at most a cap, so rather too short
	minAway      = 1e6  // ns between calls after which the work of a wait begins anew
	minPerSecond = 8    // long waits in a second that say which work they are for
	sameSeconds  = 0.8  // share of such seconds that must be alike
	sameRatio    = 0.2  // by which launches for each wait differ in such seconds at most
)

// compare finds by how much cycles of the same work are longer than usual.
func (t *subject) compare(cycles []cycle) {
	if len(cycles) < minCycles {
		return
	}
	took := make([]uint64, len(cycles))
	for i, c := range cycles {
		took[i] = c.took
	}
	usual := stats.Percentile(took, usualCycle)
	for _, c := range cycles {
		t.later[c.wait] = c.took - min(c.took, usual)
	}
}

// excess is what a wait took beyond the usual, as far as its work took longer, ns.
func (t *subject) excess(c *event.Call, over uint64) uint64 {
	if v, ok := t.later[c.Start]; ok {
		return min(over, v)
	}
	return over
}

// queuedWait is a wait that found work queued.
type queuedWait struct {
	call  *event.Call
	began uint64 // Unix ns from which the work can have been handed over, 0 if unknown
}

// longWaits are the waits of a thread that found work queued, by operation, by time, if most
// calls of the operation found none and the work is not known otherwise.
func (cs *callStats) longWaits(t *subject) map[event.Op][]queuedWait {
	long := map[event.Op][]queuedWait{}
	began := uint64(0)
	for i := range t.episodes {
		e := &t.episodes[i]
		switch {
		case e.Call == nil && e.Duration >= minAway:
			began = e.End()
		case e.Call != nil && blocks(e.Op) && e.Duration >= longWait:
			st := cs.stats[threadOp{t.Thread, e.Op}]
			if e.Op.Role() == event.RoleSync && t.usualWork[e.Op] == 0 && st != nil && cs.median(st) <= emptyWait {
				long[e.Op] = append(long[e.Op], queuedWait{e.Call, began})
			}
			began = e.End()
		}
	}
	return long
}

func cyclesOf(waits []queuedWait) []cycle {
	list := make([]cycle, 0, len(waits))
	for _, w := range waits {
		if w.began != 0 {
			list = append(list, cycle{w.call.Start, w.call.End() - w.began})
		}
	}
	return list
}

// sameThroughout reports whether long waits are for the same work all the time: in nearly
// each second there are as many launches for each, and they are of about the same length.
// They may then be longer in some seconds than in others, which is not for other work.
func (ev *evidence) sameThroughout(t *subject, waits []queuedWait) bool {
	step := max(ev.in.SeriesStep, 1)
	launches := ev.launchesOf(t.PID)
	took := map[uint64][]uint64{}
	for _, w := range waits {
		at := w.call.Start / 1e9 / step * step
		took[at] = append(took[at], w.call.Duration)
	}
	var ratios []float64
	narrow := 0
	for second, v := range took {
		if uint64(len(v)) < minPerSecond*step {
			continue
		}
		ratios = append(ratios, float64(launches[second])/float64(len(v)))
		if float64(stats.Percentile(v, 0.9)) <= mixedWork*float64(stats.Median(v)) {
			narrow++
		}
	}
	if len(ratios) == 0 || float64(narrow) < sameSeconds*float64(len(ratios)) {
		return false
	}
	slices.Sort(ratios)
	usual, alike := ratios[len(ratios)/2], 0
	for _, r := range ratios {
		if math.Abs(r-usual) <= sameRatio*usual {
			alike++
		}
	}
	return usual > 0 && float64(alike) >= sameSeconds*float64(len(ratios))
}

// backlog is what shows that the GPU is behind in a second: cycles that end with a long wait,
// for work that the GPU had not done when the thread had launched all of it.
type backlog struct{ cycles, waits uint64 } // ns

const (
	minBehindPct = 5.0 // percent of the time in such waits
	minCovered   = 0.8 // share of the time in such cycles
	longCycle    = 2.0 // times the median: a cycle in which other waits were short
)

// all reports whether the GPU is behind whenever it is waited for, in so much time.
func (b backlog) all(ns uint64) bool {
	return percent(b.waits, ns) >= minBehindPct && share(b.cycles, ns) >= minCovered
}

// behind finds the cycles of a thread that end with a long wait, by second of the series. A
// thread whose every cycle does is not bound by launching, however much of the time that takes.
func (cs *callStats) behind(t *subject) map[uint64]backlog {
	var took []uint64
	var ends []*ledger.Episode
	var last uint64
	for i := range t.episodes {
		if e := &t.episodes[i]; e.Call != nil && blocks(e.Op) && e.Duration >= longWait {
			if last != 0 {
				took, ends = append(took, e.End()-min(last, e.End())), append(ends, e)
			}
			last = e.End()
		}
	}
	step := max(cs.in.SeriesStep, 1)
	most := longCycle * float64(stats.Median(took))
	by := map[uint64]backlog{}
	for i, e := range ends {
		if float64(took[i]) <= most {
			at := e.Start / 1e9 / step * step
			by[at] = backlog{by[at].cycles + took[i], by[at].waits + e.Duration}
		}
	}
	return by
}
