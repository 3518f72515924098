package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// contention is who had the CPUs while a thread waited for one. It is empty for findings of other
// causes than cpu_contention.
type contention struct {
	runners ledger.Runners
	cpus    map[uint16]bool
	self    uint64 // ns in which the tracer ran
	// onset is from when on the thread's steps took longer for good, Unix ns, 0 if they did not; early are those that ran
	// before. Who ran as much then as later did not make the difference.
	onset    uint64
	from, to uint64 // Unix ns, of the thread
	early    ledger.Runners
	note     string // on how the times were found; may be empty
}

// add counts who ran during the waits for a CPU. Where several threads waited for one CPU at
// the same time, a runner was counted once for each of them: the sums are scaled down to the time
// that the CPUs had.
func (c *contention) add(hs *hostState, rows []*event.OffCPU) {
	rows = slices.DeleteFunc(rows, func(o *event.OffCPU) bool {
		return o.Class == event.Throttled || o.RunQueue == 0 || hs.held[o] > 0
	})
	slices.SortStableFunc(rows, func(a, b *event.OffCPU) int {
		_, from := ledger.Blocked(a)
		_, other := ledger.Blocked(b)
		return cmp.Compare(from, other)
	})
	var waited, once uint64
	until := map[uint16]uint64{} // by CPU
	for _, o := range rows {
		c.runners.Add(o)
		if o.Start < c.onset {
			c.early.Add(o)
		}
		cpu := ledger.CPU(o)
		c.on(cpu)
		_, from := ledger.Blocked(o)
		to := from + min(o.RunQueue, o.Duration)
		waited += to - from
		once += to - min(max(from, until[cpu]), to)
		until[cpu] = max(until[cpu], to)
	}
	if once < waited {
		c.runners.Scale(share(once, waited))
		c.early.Scale(share(once, waited))
	}
	c.self = 0
	for _, r := range c.runners.Ranked() {
		if hs.in.isTracer(r.PID) {
			c.self += r.NS
		}
	}
}

// on adds a CPU.
func (c *contention) on(cpu uint16) {
	if c.cpus == nil {
		c.cpus = map[uint16]bool{}
	}
	c.cpus[cpu] = true
}

// shares reports whether a thread waited for a CPU for which another one waited, too.
func (c *contention) shares(o *contention) bool {
	for cpu := range o.cpus {
		if c.cpus[cpu] {
			return true
		}
	}
	return false
}

// named returns the time of the known runners without the tracer, ns.
func (c *contention) named() uint64 { return c.runners.Named - min(c.runners.Named, c.self) }

// runner is a process that ran while the thread was runnable.
type runner struct {
	event.Culprit // TID and Comm are of the thread that ran longest
	name          string
}

// more returns how much more of the time some runs took since the onset than before, of the time then and before: ns in
// all, and before it. Without an onset it is ns.
func (c *contention) more(ns, early uint64) float64 {
	if c.onset <= c.from || c.onset >= c.to {
		return float64(ns)
	}
	return float64(ns-min(early, ns))/float64(c.to-c.onset) - float64(early)/float64(c.onset-c.from)
}

// ranked lists the processes that ran, without the tracer: those first that ran longest, or if steps took longer from
// some time on, those that ran more since.
func (c *contention) ranked(ps *processes) []runner {
	by := map[uint32]*runner{}
	for _, who := range c.runners.Ranked() {
		if ps.in.isTracer(who.PID) {
			continue
		}
		if r := by[who.PID]; r != nil {
			r.NS += who.NS
			continue
		}
		by[who.PID] = &runner{Culprit: who, name: ps.name(who.PID, who.Comm)}
	}
	var list []runner
	for _, r := range by {
		list = append(list, *r)
	}
	early := map[uint32]uint64{}
	for _, who := range c.early.Ranked() {
		early[who.PID] += who.NS
	}
	slices.SortFunc(list, func(a, b runner) int {
		return cmp.Or(cmp.Compare(c.more(b.NS, early[b.PID]), c.more(a.NS, early[a.PID])), cmp.Compare(a.PID, b.PID))
	})
	return list
}
