package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// What a wait for the GPU usually takes is its operation's median, which misleads in two
// ways: waits for more work are longer and nothing is lost, and where the GPU is slow most of
// the time, slow is the median. The exact sums of each second show both.

const (
	minLevelSeconds = 2    // of the same length, before waits became longer; one more after it
	minLevelCalls   = 20   // in them, and after it
	minLevelStep    = 1.25 // times the longest mean before that all means after it take at least
	maxLevelSpread  = 1.25 // times the shortest mean that the longest before takes at most
	minCycleShare   = 0.5  // of what waits take longer, by which the time from one to the next is longer
	perLaunchUsual  = 0.25 // the quantile of the time for a launch that is usual: at most a cap, so rather too short
)

// waitSecond is what the waits of an operation, and the work that they are for, came to in a
// second, or in some seconds of a long recording. What the host held them up is no part of it.
type waitSecond struct {
	at       uint64  // Unix seconds at its start
	whole    bool    // the thread made calls before it and after it
	calls    uint64  // waits
	mean     float64 // ns of one, without that
	cycle    float64 // ns from one wait to the next
	launches float64 // by the process, for each wait
}

// gpuLevel is what the waits of an operation took before they became longer.
type gpuLevel struct {
	since uint64  // Unix ns from which on they are longer
	usual uint64  // ns of a wait before
	times float64 // by which those after are longer

	excess uint64 // ns that waits after took beyond the usual
	calls  uint64 // of them
}

// readLevels finds where waits of a thread are for more work than usual, and where they
// became longer for as much work.
func (ev *evidence) readLevels() {
	for _, t := range ev.subjects {
		t.levels = map[event.Op]gpuLevel{}
		for _, o := range t.ops {
			// Means of waits with work and without say nothing.
			if o.Op.Role() != event.RoleSync || ev.calls.median(o) <= emptyWait {
				continue
			}
			seconds := ev.waitSeconds(t, o.Op)
			if _, grows := ev.growing(t, o.Op); !grows {
				if l, ok := levelBefore(seconds); ok {
					t.levels[o.Op] = l
					t.forget(o.Op) // most cycles, which said what is usual, may be of those after
				}
			}
			phases := ev.calls.byPhase(t, o.Op, seconds)
			for _, phase := range phases {
				usual := float64(ev.calls.median(o))
				if len(phases) > 1 {
					usual = weighted(phase, 0.5, meanWait)
				}
				t.moreWork(o.Op, usual, phase, max(ev.in.SeriesStep, 1))
			}
		}
	}
}

// launchesOf are a process's launches, by second of the series: not those within other calls,
// which are not always counted.
func (ev *evidence) launchesOf(pid uint32) map[uint64]uint64 {
	if known := ev.launched[pid]; known != nil {
		return known
	}
	launches := map[uint64]uint64{}
	ev.launched[pid] = launches
	for _, t := range ev.subjects {
		for _, o := range t.ops {
			if t.PID != pid || o.Op.Role() != event.RoleLaunch {
				continue
			}
			for _, second := range ev.calls.series[threadOp{t.Thread, o.Op}] {
				launches[second.Second] += second.Calls
			}
		}
	}
	return launches
}

func (ev *evidence) waitSeconds(t *subject, op event.Op) []waitSecond {
	step := max(ev.in.SeriesStep, 1)
	launches := ev.launchesOf(t.PID)
	var list []waitSecond
	for _, o := range ev.calls.series[threadOp{t.Thread, op}] {
		if o.Calls == 0 {
			continue
		}
		n := float64(o.Calls)
		list = append(list, waitSecond{
			at: o.Second, whole: o.Second*1e9 > t.from && (o.Second+step)*1e9 < t.to,
			calls: o.Calls, mean: float64(o.OwnNS()) / n,
			cycle: float64(step) * 1e9 / n, launches: float64(launches[o.Second]) / n,
		})
	}
	slices.SortFunc(list, func(a, b waitSecond) int { return cmp.Compare(a.at, b.at) })
	return list
}

// forget drops what is known of by how much the work of an operation's waits took longer.
func (t *subject) forget(op event.Op) {
	for i := range t.episodes {
		if e := &t.episodes[i]; e.Call != nil && e.Op == op {
			delete(t.later, e.Start)
		}
	}
}

// moreWork bounds what waits lose in seconds with more launches for each wait than usual: by
// how much a cycle is longer than its launches usually take. Where that is not known, they
// lose nothing.
func (t *subject) moreWork(op event.Op, median float64, seconds []waitSecond, step uint64) {
	// If half of the waits are for more work, the median may be of either half.
	longest := maxLevelSpread * median
	least := slices.DeleteFunc(slices.Clone(seconds), func(v waitSecond) bool { return v.mean > longest })
	usual := weighted(least, 0.5, func(v *waitSecond) float64 { return v.launches })
	if usual == 0 {
		return
	}
	whole := slices.DeleteFunc(slices.Clone(seconds), func(v waitSecond) bool { return !v.whole || v.launches == 0 })
	each := weighted(whole, perLaunchUsual, func(v *waitSecond) float64 { return v.cycle / v.launches })
	over := map[uint64]uint64{}
	for _, v := range seconds {
		if v.launches <= (1+sameRatio)*usual {
			continue
		}
		over[v.at] = 0
		if v.whole {
			over[v.at] = uint64(max(0, v.cycle-each*v.launches))
		}
	}
	if len(over) == 0 {
		return
	}
	for i := range t.episodes {
		e := &t.episodes[i]
		if e.Call == nil || e.Op != op {
			continue
		}
		// A call counts in the second in which it began; one that ends in the next may be for
		// that one's work.
		for _, at := range []uint64{e.Start, e.End()} {
			if v, ok := over[at/1e9/step*step]; ok {
				if known, ok := t.later[e.Start]; !ok || v < known {
					t.later[e.Start] = v
				}
			}
		}
	}
}

// levelBefore finds out whether waits became longer at once and stayed so, for as many launches,
// and the time from one to the next became longer, too. One second may be of both.
func levelBefore(seconds []waitSecond) (l gpuLevel, ok bool) {
	for n := minLevelSeconds; n+minLevelSeconds < len(seconds); n++ { // the last that will do
		for _, between := range []int{1, 0} {
			if n+between+minLevelSeconds >= len(seconds) {
				continue
			}
			before, after := seconds[:n], seconds[n+between:]
			if times, longer := longer(before, after); longer {
				l = gpuLevel{since: seconds[n].at * 1e9, usual: uint64(medianOf(before, meanWait)), times: times}
			}
		}
	}
	if l.since == 0 {
		return l, false
	}
	for _, v := range seconds {
		if v.at*1e9 < l.since || v.mean <= float64(l.usual) {
			continue
		}
		over := float64(v.calls) * (v.mean - float64(l.usual))
		l.excess += uint64(over)
		l.calls += min(v.calls, uint64(math.Round(over/(float64(l.usual)*(l.times-1)))))
	}
	return l, true
}

func meanWait(v *waitSecond) float64 { return v.mean }

// longer compares the waits of two stretches: by how many times those after are longer.
func longer(before, after []waitSecond) (times float64, ok bool) {
	low, high := extremesOf(before, meanWait)
	least, _ := extremesOf(after, meanWait)
	if low <= 0 || high > maxLevelSpread*low || least < minLevelStep*high {
		return 0, false
	}
	if waitsIn(before) < minLevelCalls || waitsIn(after) < minLevelCalls {
		return 0, false
	}
	was, is := medianOf(before, meanWait), medianOf(after, meanWait)
	launches := func(v *waitSecond) float64 { return v.launches }
	if a, b := medianOf(before, launches), medianOf(after, launches); a == 0 || math.Abs(a-b) > sameRatio*a {
		return 0, false
	}
	cycle := func(v *waitSecond) float64 { return v.cycle }
	wholes := func(list []waitSecond) []waitSecond {
		return slices.DeleteFunc(slices.Clone(list), func(v waitSecond) bool { return !v.whole })
	}
	a, b := medianOf(wholes(before), cycle), medianOf(wholes(after), cycle)
	return is / was, a > 0 && b-a >= minCycleShare*(is-was)
}

func waitsIn(list []waitSecond) (n uint64) {
	for i := range list {
		n += list[i].calls
	}
	return n
}

// weighted is a quantile over waits, of what is known of their seconds.
func weighted(list []waitSecond, q float64, of func(*waitSecond) float64) float64 {
	return quantileOf(list, q, of, func(v *waitSecond) uint64 { return v.calls })
}
