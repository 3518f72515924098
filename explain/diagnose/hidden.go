package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// While the GPU has work queued, a thread that waits for a CPU delays nothing: the program waits
// that much less for the GPU at the end of its step. A training loop that keeps its GPU busy loses
// nothing if its threads delay each other now and then.

// queuedInterval is the time between two long waits of a process for the GPU.
type queuedInterval struct {
	began uint64 // end of the wait before it, Unix ns
	known bool   // the wait before it was recorded; else began is estimated
	from  uint64 // Unix ns from which work is queued
	to    uint64 // start of the wait that ends it, Unix ns
	spare uint64 // ns of that wait not yet used up by hidden delays
}

// usualLead is the quantile of the times from a wait's end to the next launch that is taken as the
// time after which work is queued.
const usualLead = 0.9

// unseenGap is the ratio of the time between two recorded long waits to the usual one above which
// waits between them were not recorded.
const unseenGap = 2

// longCall is a long wait for the GPU, Unix ns.
type longCall struct{ start, end uint64 }

// readQueued finds the queued intervals of each process, by time. Unusual calls are recorded one by
// one; of the others only those in the spans are. Where waits may be missing, an interval begins at
// most the usual time before its wait. The missing waits are what the exact sums of each second
// hold beyond the recorded ones.
func (ev *evidence) readQueued() {
	ev.queue.queued, ev.queue.unseen = map[uint32][]queuedInterval{}, map[uint32]unseenWaits{}
	waits := map[uint32][]longCall{}
	add := func(pid uint32, o event.Op, depth uint8, start, end uint64) {
		if o.Role() == event.RoleSync && depth == 0 && end-start >= longWait {
			waits[pid] = append(waits[pid], longCall{start, end})
		}
	}
	for i := range ev.in.Calls {
		c := &ev.in.Calls[i]
		add(c.PID, c.Op, c.Depth, c.Start, c.End())
	}
	for _, span := range ev.in.Spans {
		for i := range span {
			c := &span[i]
			add(c.PID, c.Op, c.Depth, c.Start, c.End())
		}
	}
	ev.queue.steps = ev.calls.queuedSteps()
	for pid, list := range waits {
		q := ev.queue.steps[pid]
		if len(q.leads) == 0 {
			continue // nothing says when work is queued
		}
		lead, length := stats.Percentile(leadTimes(q.leads, 0, math.MaxUint64), usualLead), stats.Median(q.length)
		slices.SortFunc(list, func(a, b longCall) int {
			return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start))
		})
		list = slices.Compact(list) // many are in Calls and in Spans
		for i := 1; i < len(list); i++ {
			wait := list[i]
			began := list[i-1].end
			from := max(began, wait.start-min(wait.start, length)) + lead
			known := wait.start-min(wait.start, began) <= unseenGap*length // else waits between them were not recorded
			if !known {
				began = from - lead
			}
			if from < wait.start {
				next := queuedInterval{began, known, from, wait.start, wait.end - wait.start}
				ev.queue.queued[pid] = append(ev.queue.queued[pid], next)
			}
		}
		if lead < length {
			ev.queue.unseen[pid] = ev.calls.unseenOf(pid, list, float64(length-lead)/float64(length))
		}
	}
}

// unseenWaits are the long waits of a process that were not recorded one by one, by second, ns; and
// the share of the time between such waits in which work is queued.
type unseenWaits struct {
	share float64
	spare map[uint64]uint64 // ns not yet used up by hidden delays
	mean  map[uint64]uint64 // of one wait, ns
}

// unseenOf subtracts the recorded waits from the exact sums.
func (cs *callStats) unseenOf(pid uint32, listed []longCall, queued float64) unseenWaits {
	step := max(cs.in.SeriesStep, 1)
	u := unseenWaits{queued, map[uint64]uint64{}, map[uint64]uint64{}}
	calls := map[uint64]uint64{}
	for k, series := range cs.series {
		if k.PID != pid || k.op.Role() != event.RoleSync || k.op.Source() == event.SourceDriver {
			continue
		}
		for _, o := range series {
			if o.Calls > 0 && o.SumNS/o.Calls >= longWait {
				u.spare[o.Second] += o.SumNS
				calls[o.Second] += o.Calls
			}
		}
	}
	for at, n := range calls {
		u.mean[at] = u.spare[at] / n
	}
	for _, w := range listed {
		at := w.start / 1e9 / step * step
		u.spare[at] -= min(u.spare[at], w.end-w.start)
	}
	return u
}

// hidden returns how much of a delay before a wait that was not recorded cost nothing, ns.
func (u *unseenWaits) hidden(at, ns uint64) uint64 {
	v := uint64(u.share * float64(ns))
	if ns > u.mean[at] || v > u.spare[at] {
		return 0
	}
	u.spare[at] -= v
	return v
}

// queuedSteps are the times in the spans from the end of a long wait to the next launch, and to the
// next long wait, ns.
type queuedSteps struct {
	leads  []lead
	length []uint64
}

// lead is the time from the end of a long wait, at Unix ns, to the process's next launch, ns.
type lead struct{ at, ns uint64 }

// leadTimes returns the durations of the leads in [from, to), Unix ns.
func leadTimes(leads []lead, from, to uint64) (ns []uint64) {
	for _, l := range leads {
		if l.at >= from && l.at < to {
			ns = append(ns, l.ns)
		}
	}
	return ns
}

func (cs *callStats) queuedSteps() map[uint32]queuedSteps {
	steps := map[uint32]queuedSteps{}
	for _, span := range cs.in.Spans {
		for pid, calls := range outermostByProcess(span) {
			var ended, launched uint64 // the last long wait, the first launch since then
			for i := range calls {
				c := &calls[i]
				switch c.Op.Role() {
				case event.RoleSync:
					if c.Duration < longWait {
						continue
					}
					if launched != 0 && c.Start >= launched {
						q := steps[pid]
						steps[pid] = queuedSteps{append(q.leads, lead{ended, launched - ended}), append(q.length, c.Start-ended)}
					}
					ended, launched = c.End(), 0
				case event.RoleLaunch, event.RoleCollective:
					if ended != 0 && launched == 0 && c.Start >= ended {
						launched = c.Start
					}
				}
			}
		}
	}
	return steps
}

// costless returns how much of a delay in an episode cost nothing, ns. Within a wait for the GPU, a
// delay costs nothing if the GPU still had work when the delay was over, except as far as the wait
// was longer than usual: the waiting thread may also have to feed the GPU. over is the time beyond
// the usual that earlier delays have not accounted for.
func (qs *gpuQueue) costless(a *account, o *event.OffCPU, ns uint64, over *uint64) uint64 {
	ended := o.Start + o.Duration
	switch {
	case a.Call == nil || !blocks(a.Op):
		return qs.hidden(o.PID, ended, ns)
	case a.role == event.RoleSync && a.End() > ended+longWait:
		cost := min(ns, *over)
		*over -= cost
		qs.delays[o.PID] += ns - cost
		return ns - cost
	}
	return 0
}

// hidden returns how much of a delay of a process's thread cost nothing, ns. That is the case if
// work was queued when the delay ended, and the wait at the end of the interval was at least as
// long as all delays in it.
func (qs *gpuQueue) hidden(pid uint32, ended, ns uint64) uint64 {
	intervals := qs.queued[pid]
	n, _ := slices.BinarySearchFunc(intervals, ended,
		func(v queuedInterval, at uint64) int { return cmp.Compare(v.to, at) })
	if n == len(intervals) || ended < intervals[n].began || !intervals[n].known && ended < intervals[n].from+ns {
		step := max(qs.in.SeriesStep, 1)
		u := qs.unseen[pid]
		v := u.hidden(ended/1e9/step*step, ns)
		qs.delays[pid] += v
		return v
	}
	if ended < intervals[n].from+ns || intervals[n].spare < ns {
		return 0
	}
	intervals[n].spare -= ns
	qs.delays[pid] += ns
	return ns
}
