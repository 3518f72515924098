package diagnose

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// A launch, a fill or an asynchronous copy that finds the launch queue full spins on a CPU until the GPU has finished
// an earlier one. This happens to every program whose host is faster than its GPU and rarely waits for it, as in
// training that reads its loss every 20 steps: the GPU is always at work, and the host loses nothing. On an H100
// (driver 580) launches of 4 us took up to 2.8 ms this way, in a training loop of 1,800 launches a step.

const (
	// fewQueued is how many launches per wait for the GPU suffice to fill the queue if the GPU was busy: a program may
	// also wait where work is left in the queue (an event, another stream).
	fewQueued = event.LaunchQueue / 2
	// fullUtil is the least utilisation of a GPU that has work queued all the time, percent.
	fullUtil = 95
	// A reading covers up to a second before it. Those from utilFrom after a second's start to utilUntil after its end
	// cover at least a part of that second.
	utilFrom, utilUntil = 500 * time.Millisecond, 1500 * time.Millisecond
	// minFullShare is the least share of a thread's seconds in which the queue is full for the mean duration of its
	// launches to be the GPU's pace.
	minFullShare = 0.8
	// minQueuePct is the least share of a thread's time for which its waits for room are reported, percent.
	minQueuePct = 5.0
)

var causeFullQueue = cause{kind: event.CauseGPUWait, takes: onCPU, claimEpisode: claimFullQueue}

// enqueues reports whether an operation only adds to the launch queue.
func enqueues(op event.Op) bool {
	return op.Role() == event.RoleLaunch || op.Role() == event.RoleCopy && asynchronous(op)
}

// readQueues finds the seconds in which the launch queue of a thread's process may have been full: it made enough
// launches per wait for the GPU, and the GPU, where it was read, was at work throughout.
func (ev *evidence) readQueues() {
	for _, t := range ev.subjects {
		t.fullQueue = map[uint64]bool{}
		waits := ev.waitsOf(t.PID)
		for second, launches := range ev.launchesOf(t.PID) {
			least := uint64(event.LaunchQueue)
			if util, known := ev.gpus.utilOf(t.PID, second, max(ev.in.SeriesStep, 1)); known {
				if util < fullUtil {
					continue
				}
				least = fewQueued
			}
			if launches >= least*max(waits[second], 1) {
				t.fullQueue[second] = true
			}
		}
	}
}

// waitsOf returns the number of a process's waits for the GPU, by second of the series. Waits within other calls are
// left out.
func (ev *evidence) waitsOf(pid uint32) map[uint64]uint64 {
	waits := map[uint64]uint64{}
	for _, t := range ev.subjects {
		for _, o := range t.ops {
			if t.PID != pid || !blocks(o.Op) {
				continue
			}
			for _, second := range ev.calls.series[threadOp{t.Thread, o.Op}] {
				waits[second.Second] += second.Calls
			}
		}
	}
	return waits
}

// utilOf returns the highest utilisation, percent, of a process's GPU in the readings from a second on; false if
// there are none.
func (gs *gpuReadings) utilOf(pid uint32, second, step uint64) (pct uint32, known bool) {
	from, to := second*1e9+uint64(utilFrom), (second+step)*1e9+uint64(utilUntil)
	for _, g := range gs.readings(pid, event.NoGPU) {
		if g.At >= from && g.At < to && g.Known(store.GPUUtil) {
			pct, known = max(pct, uint32(g.UtilPct)), true
		}
	}
	return pct, known
}

// inFullQueue reports whether a call may have waited for room in the launch queue.
func (ev *evidence) inFullQueue(t *subject, c *event.Call) bool {
	step := max(ev.in.SeriesStep, 1)
	return c != nil && enqueues(c.Op) && (t.fullQueue[c.Start/1e9/step*step] || t.fullQueue[c.End()/1e9/step*step])
}

// claimFullQueue takes the time on a CPU of calls that waited for room in the launch queue: it is the GPU's usual
// work and no loss. If the GPU became slower, aggregateGrowingWaits finds the loss. Calls that slept are left to
// gpu_wait.
func claimFullQueue(ev *evidence, a *account) []claim {
	var slept uint64
	for _, c := range soft {
		slept += a.left[c]
	}
	if slept <= a.left[event.OnCPU] && ev.inFullQueue(a.sub, a.Call) {
		a.take(event.OnCPU, a.left[event.OnCPU])
	}
	return nil
}

// paced reports whether a thread's launches took as long as the GPU needed, in nearly all of its time.
func (ev *evidence) paced(t *subject, op event.Op) bool {
	if !enqueues(op) || len(t.fullQueue) == 0 {
		return false
	}
	full, all := 0, 0
	for _, o := range ev.calls.series[threadOp{t.Thread, op}] {
		all++
		if t.fullQueue[o.Second] {
			full++
		}
	}
	return float64(full) >= minFullShare*float64(all)
}

// queueWaits lists the threads that waited for room in the launch queue: how much longer than usual their calls took
// in the seconds in which it was full.
func (ev *evidence) queueWaits() []report.QueueWait {
	var list []report.QueueWait
	for _, t := range ev.subjects {
		var ns uint64
		var util, read float64
		for second := range t.fullQueue {
			if v, known := ev.gpus.utilOf(t.PID, second, max(ev.in.SeriesStep, 1)); known {
				util, read = util+float64(v), read+1
			}
		}
		for _, o := range t.ops {
			if !enqueues(o.Op) {
				continue
			}
			usual, over := ev.calls.median(o), uint64(0)
			for _, s := range ev.calls.series[threadOp{t.Thread, o.Op}] {
				if t.fullQueue[s.Second] {
					over += s.OwnNS() - min(s.OwnNS(), s.Calls*usual)
				}
			}
			ns += min(over, t.unattributed.ops[o.Op]) // the rest is lost time
		}
		if pct := percent(ns, t.wall()); pct >= minQueuePct {
			list = append(list, report.QueueWait{
				Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID, NS: min(ns, t.wall()), Pct: round(min(pct, 100)),
				UtilPct: round(util / max(read, 1)),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b report.QueueWait) int { return cmp.Compare(b.NS, a.NS) })
	return list
}
