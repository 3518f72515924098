package arrivals

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// off is an interval in which a thread was off the CPU, wholly or in part.
type off struct {
	tid      uint32
	from, to uint64 // Unix ns
	ns       [event.NumClasses]uint64
}

// waits keeps the last off-CPU intervals of a rank's threads.
type waits struct {
	list [maxOff]off
	n    uint64
}

// waits takes in the off-CPU time of the ranks' threads: in gaps, and in calls that do not wait for the GPU or for
// other ranks.
func (c *Chooser) waits(b *store.Batch) {
	if len(c.ranks) == 0 {
		return
	}
	for i := range b.Gaps {
		g := &b.Gaps[i]
		if r := c.ranks[g.PID]; r != nil && g.Ledger.Total() > 0 {
			r.off.addWait(off{g.TID, g.Start, g.Start + g.Duration, g.Ledger.NS})
		}
	}
	for i := range b.Calls {
		x := &b.Calls[i]
		if x.Depth > 0 || x.Ledger.Voluntary == 0 && x.Ledger.Involuntary == 0 || x.Op.Role() == event.RoleSync ||
			x.Op.Source() == event.SourceNCCL {
			continue
		}
		if r := c.ranks[x.PID]; r != nil && x.Ledger.Total() > 0 {
			r.off.addWait(off{x.TID, x.Start, x.Start + x.Duration, x.Ledger.NS})
		}
	}
}

func (w *waits) addWait(o off) {
	w.list[w.n%maxOff] = o
	w.n++
}

// within returns a thread's off-CPU time between two times, in ns by class. Of an interval that lies partly outside,
// each class counts in proportion.
func (w *waits) within(tid uint32, from, to uint64) (ns [event.NumClasses]uint64) {
	for i := range w.list[:min(w.n, maxOff)] {
		o := &w.list[i]
		lo, hi := max(o.from, from), min(o.to, to)
		if o.tid != tid || lo >= hi {
			continue
		}
		share := float64(hi-lo) / float64(o.to-o.from)
		for c, v := range o.ns {
			ns[c] += uint64(share * float64(v))
		}
	}
	return ns
}
