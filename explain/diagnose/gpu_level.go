package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// A wait for the GPU is compared with its operation's median. That misleads in two ways: waits for
// more work are longer although nothing is lost, and if the GPU is slow most of the time, the
// median is slow, too. The exact sums of each second show both.

const (
	minLevelSeconds = 2    // seconds with waits of equal length before they became longer; one more after
	minLevelCalls   = 20   // waits in the seconds before, and in those after
	minLevelStep    = 1.25 // least ratio of every mean after to the longest mean before
	maxLevelSpread  = 1.25 // largest ratio of the longest to the shortest mean before
	minCycleShare   = 0.5  // share of the waits' growth by which the cycle must have grown at least
	perLaunchUsual  = 0.25 // quantile of the time for each launch that counts as usual; low: it only caps a loss
)

// waitSecond is a second of an operation's waits and of the work they are for; in a long recording
// several seconds. Delays by the host are left out.
type waitSecond struct {
	at       uint64  // Unix seconds at its start
	whole    bool    // the thread made calls before it and after it
	calls    uint64  // waits
	mean     float64 // of a wait, without delays by the host, ns
	cycle    float64 // from one wait to the next, ns
	launches float64 // of the process, for each wait
}

// gpuLevel is what the waits of an operation took before they became longer.
type gpuLevel struct {
	since uint64  // Unix ns from which on they are longer
	usual uint64  // ns of a wait before
	times float64 // ratio of a wait after to one before

	excess uint64 // ns that waits after took beyond the usual
	calls  uint64 // number of such waits
}

// readLevels finds where waits of a thread are for more work than usual, and where they became
// longer for the same work.
func (ev *evidence) readLevels() {
	for _, t := range ev.subjects {
		t.levels = map[event.Op]gpuLevel{}
		for _, o := range t.ops {
			// If most waits find nothing queued, means mix both kinds and say nothing.
			waits := o.Op.Role() == event.RoleSync && ev.calls.median(o) > emptyWait
			paced := ev.paced(t, o.Op)
			if !waits && !paced {
				continue
			}
			seconds := ev.waitSeconds(t, o.Op)
			if _, grows := ev.growing(t, o.Op); !grows {
				if l, ok := levelBefore(seconds); ok {
					t.levels[o.Op] = l
					t.forgetLater(o.Op) // what counted as the usual cycle may be from after the change
				}
			}
			if paced {
				continue
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

// launchesOf returns the number of a process's launches, by second of the series. Launches within other
// calls are left out: they are not always counted.
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

// forgetLater drops how much longer than usual the work of an operation's waits took.
func (t *subject) forgetLater(op event.Op) {
	for i := range t.episodes {
		if e := &t.episodes[i]; e.Call != nil && e.Op == op {
			delete(t.later, e.Start)
		}
	}
}

// moreWork bounds the loss of waits in seconds with more launches for each wait than usual: it is
// at most the time by which a cycle is longer than its launches usually take. Where that is not
// known, nothing is lost.
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
		// A call counts in the second in which it began. If it ends in the next second, it may be
		// for that second's work.
		for _, at := range []uint64{e.Start, e.End()} {
			if v, ok := over[at/1e9/step*step]; ok {
				if known, ok := t.later[e.Start]; !ok || v < known {
					t.later[e.Start] = v
				}
			}
		}
	}
}

// levelBefore finds out whether waits suddenly became longer and stayed so, for as many launches,
// and the time from one wait to the next became longer, too. The second of the change may be left
// out.
func levelBefore(seconds []waitSecond) (l gpuLevel, ok bool) {
	for n := minLevelSeconds; n+minLevelSeconds < len(seconds); n++ { // the last match is used
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

// longer compares the waits of two stretches, and returns the ratio of their lengths, after to
// before.
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

// weighted returns a quantile of a value of the seconds, weighted by their waits.
func weighted(list []waitSecond, q float64, of func(*waitSecond) float64) float64 {
	return quantileOf(list, q, of, func(v *waitSecond) uint64 { return v.calls })
}
