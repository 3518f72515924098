package ledger

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// Runners sums up which threads ran while a thread was runnable. Times are in ns.
type Runners struct {
	Queue uint64 // time runnable, in all added intervals
	Idle  uint64 // part of Queue in which the CPU was idle
	Named uint64 // part of Queue in which the running thread is known
	by    map[event.Thread]*event.Culprit
}

// Idle returns the part of an interval's run-queue time in which the CPU was idle, ns. The idle task is not a
// culprit: a wait behind it is wake-up latency.
func Idle(o *event.OffCPU) uint64 {
	var ns uint64
	for _, c := range o.Culprits {
		if c.TID == 0 && ns+c.NS >= ns {
			ns += c.NS
		}
	}
	return min(max(ns, o.IdleNS), o.RunQueue, o.Duration)
}

// CPU returns the CPU whose run queue a thread was on: a preempted thread waits where it ran, a woken one where it
// was put.
func CPU(o *event.OffCPU) uint16 {
	if o.Class == event.RunQueue {
		return o.OutCPU
	}
	return o.InCPU
}

// Add adds an interval's run-queue time.
func (r *Runners) Add(o *event.OffCPU) {
	queue := min(o.RunQueue, o.Duration)
	idle := Idle(o)
	r.Queue += queue
	r.Idle += idle
	left := queue - idle
	for _, c := range o.Culprits {
		if c.PID == 0 || c.TID == 0 || c.Thread == o.Thread {
			continue
		}
		v := min(c.NS, left)
		if left -= v; v == 0 {
			continue
		}
		r.Named += v
		if r.by == nil {
			r.by = map[event.Thread]*event.Culprit{}
		}
		k := r.by[c.Thread]
		if k == nil {
			k = &event.Culprit{Thread: c.Thread}
			r.by[c.Thread] = k
		}
		k.NS += v
		k.Comm = max(k.Comm, c.Comm)
	}
}

// Scale multiplies all times by part, 0 to 1.
func (r *Runners) Scale(part float64) {
	of := func(ns *uint64) { *ns = uint64(part * float64(*ns)) }
	of(&r.Queue)
	of(&r.Idle)
	of(&r.Named)
	for _, c := range r.by {
		of(&c.NS)
	}
}

// Ranked lists the threads that ran, the longest-running first.
func (r *Runners) Ranked() []event.Culprit {
	l := make([]event.Culprit, 0, len(r.by))
	for _, c := range r.by {
		l = append(l, *c)
	}
	slices.SortFunc(l, func(a, b event.Culprit) int {
		return cmp.Or(-cmp.Compare(a.NS, b.NS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return l
}
