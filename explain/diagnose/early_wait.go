package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// A program that launches the next step before it waits for the last one keeps the GPU busy. If it
// begins to wait in each step, for example to print the loss, the GPU is idle from the end of each
// wait to the next launch, although no wait is longer than before. This is reported only where the
// same recording shows how it was before: one wait a step may be needed.

const (
	minMoreWaits  = 2.0  // least ratio of waits for each launch, after to before, in each second
	maxWaitSpread = 1.5  // largest ratio of the most to the fewest waits for each launch before
	sameBusy      = 0.15 // largest relative change of the GPU's time for a launch, if it is the same work
	minOfSecond   = 0.25 // share of a second in which the process must have made calls
	minLeads      = 5    // least number of measured times from a wait to the next launch
)

// earlyWaits are waits for the GPU that a process makes more often from a certain time on.
type earlyWaits struct {
	since         uint64        // Unix ns
	op            *store.OpStat // the operation with most of the new waits
	thread        event.Thread  // the thread that calls it
	before, after float64       // waits for each launch
	lead          uint64        // ns from the end of such a wait to the next launch
	lost          uint64        // ns in which the GPU was idle, beyond those before
	waits         uint64        // waits after that time, beyond the former number for each launch
}

// waitRate is one second of a process, or several seconds in a long recording.
type waitRate struct {
	at              uint64
	ns              float64 // in which it made calls
	waits, launches float64
	by              map[threadOp]float64 // waits
}

func (v *waitRate) each() float64 { return v.waits / v.launches }

// readEarlyWaits finds the early waits of each process.
func (ev *evidence) readEarlyWaits() {
	ev.early = map[event.Thread]earlyWaits{}
	for pid, q := range ev.queue.steps {
		if len(q.leads) < 2*minLeads {
			continue
		}
		if w, ok := ev.earlyWaitsOf(pid, q.leads); ok {
			ev.early[w.thread] = w
		}
	}
}

// waitRates returns the seconds of a process in which it launches, by time. The first and the last
// second count only if it made calls in minOfSecond of them.
func (ev *evidence) waitRates(pid uint32) []waitRate {
	launches := ev.launchesOf(pid)
	rates := map[uint64]*waitRate{}
	step := max(ev.in.SeriesStep, 1)
	from, to := ^uint64(0), uint64(0)
	for _, t := range ev.subjects {
		if t.PID != pid {
			continue
		}
		for _, o := range t.ops {
			if o.Op.Role() == event.RoleLaunch {
				from, to = min(from, o.First), max(to, o.Last)
			}
			if o.Op.Role() != event.RoleSync {
				continue
			}
			k := threadOp{t.Thread, o.Op}
			for _, second := range ev.calls.series[k] {
				if second.Calls == 0 || second.SumNS/second.Calls < longWait {
					continue
				}
				v := rates[second.Second]
				if v == nil {
					v = &waitRate{at: second.Second, launches: float64(launches[second.Second]), by: map[threadOp]float64{}}
					rates[second.Second] = v
				}
				v.waits += float64(second.Calls)
				v.by[k] += float64(second.Calls)
			}
		}
	}
	var list []waitRate
	for _, v := range rates {
		begin, end := max(v.at*1e9, from), min((v.at+step)*1e9, to)
		v.ns = float64(end - min(begin, end))
		if v.launches > 0 && v.ns >= minOfSecond*float64(step)*1e9 {
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b waitRate) int { return cmp.Compare(a.at, b.at) })
	return list
}

func (ev *evidence) earlyWaitsOf(pid uint32, leads []lead) (w earlyWaits, ok bool) {
	seconds := ev.waitRates(pid)
	for n := minLevelSeconds; n+minLevelSeconds < len(seconds); n++ {
		for _, between := range []int{1, 0} { // the change may be within a second, which is then left out
			if n+between+minLevelSeconds >= len(seconds) {
				continue
			}
			if v, more := ev.calls.moreWaits(seconds[:n], seconds[n+between:], leads); more {
				v.since = seconds[n].at * 1e9
				w, ok = v, true
			}
		}
	}
	return w, ok
}

// moreWaits compares the seconds before a time with those after it: whether there are more waits
// for each launch after it, for the same work, and whether the time for each launch became longer
// by about the time in which the GPU is idle between waits and launches.
func (cs *callStats) moreWaits(before, after []waitRate, leads []lead) (w earlyWaits, ok bool) {
	each := func(v *waitRate) float64 { return v.each() }
	low, high := extremesOf(before, each)
	least, _ := extremesOf(after, each)
	if high > maxWaitSpread*low || least < minMoreWaits*high {
		return w, false
	}
	second := float64(max(cs.in.SeriesStep, 1)) * 1e9
	// The time for each launch, and how much of it the GPU is idle.
	cost := func(list []waitRate) (all, idle float64, ok bool) {
		from, to := list[0].at*1e9, list[len(list)-1].at*1e9+uint64(second)
		took := leadTimes(leads, from, to)
		all = medianOf(list, func(v *waitRate) float64 { return v.ns / v.launches })
		return all, medianOf(list, each) * float64(stats.Median(took)), len(took) >= minLeads
	}
	was, idleWas, known := cost(before)
	is, idleIs, knownToo := cost(after)
	if !known || !knownToo || idleIs <= idleWas || math.Abs((is-idleIs)-(was-idleWas)) > sameBusy*(was-idleWas) {
		return w, false
	}
	w.before, w.after = medianOf(before, each), medianOf(after, each)
	w.lead = uint64(idleIs / w.after)
	more := map[threadOp]float64{}
	for _, v := range after {
		w.lost += uint64((idleIs - idleWas) * v.launches)
		w.waits += uint64(max(0, v.waits-w.before*v.launches))
		for k, n := range v.by {
			more[k] += n / float64(len(after))
		}
	}
	for _, v := range before {
		for k, n := range v.by {
			more[k] -= n / float64(len(before))
		}
	}
	var most threadOp
	for k, n := range more {
		if n > more[most] || n == more[most] && cmp.Or(cmp.Compare(k.op, most.op), cmp.Compare(k.TID, most.TID)) < 0 {
			most = k
		}
	}
	w.op, w.thread = cs.stats[most], most.Thread
	return w, w.op != nil
}

// aggregateEarlyWaits takes the time in which the GPU was idle because the thread waited earlier
// than before.
func aggregateEarlyWaits(ev *evidence, t *subject) []claim {
	w, ok := ev.early[t.Thread]
	if !ok {
		return nil
	}
	return ev.calls.aggregateBeside(t, w.op, event.CauseImplicitSync, w.lost, w.waits)
}

func (w *earlyWaits) describe(ev *evidence, f *finding, c *report.Chain) {
	site := ev.calls.site(f)
	from := ""
	if site != "" {
		from, site = "; called from "+site, " in "+site
	}
	c.Summary = fmt.Sprintf("%s lost %s because it waits for the GPU earlier: "+
		"%.1f times as many waits for each launch, and %s from %s to the next launch",
		f.process(ev), f.pct(), w.after/w.before, span(w.lead), c.Effect.Op)
	c.Cause.Detail = fmt.Sprintf("since %s there are %.1f times as many long waits for each launch, most of the new "+
		"ones in %s; "+
		"after each of them the GPU is idle for %s, while the program does its own work; before, it did that while the "+
		"GPU worked. The GPU takes as long for a launch as before%s",
		clockOf(w.since/1e9), w.after/w.before, c.Effect.Op, span(w.lead), from)
	c.Path = []report.Step{f.step(ev, "running", "its own work, while the GPU has nothing to do", f.lost)}
	words := []string{"site", site, "pid", itoa(f.sub.PID)}
	c.Recommendations = ev.procs.advise(f.sub.PID, words, adviceReadLater, adviceSync)
}
