package diagnose

import (
	"math"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// The GPU begins with the first launched work, not when the thread begins to wait for it. If the
// host launches faster, the wait is longer although the work takes no longer. So the time of a wait
// beyond the usual is lost only as far as its cycle, from the first launch to the end of the wait,
// is longer than usual, too.

// cycle is the time that the GPU had for the work of a wait, ns.
type cycle struct{ wait, took uint64 } // the wait's start; up to its end

const (
	minCycles    = 10   // least number of cycles to know what is usual
	usualCycle   = 0.25 // quantile of the cycles that counts as usual; low, because it only caps a loss
	minAway      = 1e6  // ns between calls after which the work of a wait counts from the next call on
	minPerSecond = 8    // least long waits in a second, to judge their work
	sameSeconds  = 0.8  // least share of such seconds that must be alike
	sameRatio    = 0.2  // largest relative difference of the launches for each wait between such seconds
)

// compare finds how much longer than usual each cycle of the same work took.
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

// excess returns the time of a wait beyond the usual, as far as its work took longer, ns. over is the
// time beyond the usual.
func (t *subject) excess(c *event.Call, over uint64) uint64 {
	if v, ok := t.later[c.Start]; ok {
		return min(over, v)
	}
	return over
}

// queuedWait is a wait that found work queued.
type queuedWait struct {
	call  *event.Call
	began uint64 // earliest time at which the work can have been launched, Unix ns; 0 if unknown
}

// longWaits returns the waits of a thread that found work queued, by operation and in order of time. An operation
// counts only if most of its calls found nothing queued and its work is not known otherwise.
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

// sameThroughout reports whether long waits are for the same work all the time: in nearly every
// second there are as many launches for each wait, and the waits are about equally long. If waits
// are then longer in some seconds than in others, different work is not the reason.
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
	usual, alike := stats.Upper(ratios), 0
	for _, r := range ratios {
		if math.Abs(r-usual) <= sameRatio*usual {
			alike++
		}
	}
	return usual > 0 && float64(alike) >= sameSeconds*float64(len(ratios))
}

// backlog shows that the GPU is behind in a second: cycles that end with a long wait, for work that
// the GPU had not finished when the thread had launched all of it.
type backlog struct{ cycles, waits uint64 } // ns

const (
	minBehindPct = 5.0 // least share of the time in such waits, percent
	minCovered   = 0.8 // least share of the time in such cycles
	longCycle    = 2.0 // times the median: a cycle in which other waits were short
)

// all reports whether the GPU is behind at every wait in a stretch of ns.
func (b backlog) all(ns uint64) bool {
	return percent(b.waits, ns) >= minBehindPct && share(b.cycles, ns) >= minCovered
}

// behind finds the cycles of a thread that end with a long wait, by second of the series. If all of
// its cycles do, the thread is not bound by launching, however much of its time launching takes.
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
