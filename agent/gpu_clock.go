package agent

import "github.com/ingero-io/ingero/store"

// clockStep is the change of a GPU's clock that is recorded, percent of the highest it can be.
const clockStep = 5

// clockChange is how a GPU's clock, or why it is not higher, differs between two readings of it; false
// if it does not, or by too little. What one of them does not tell has not changed.
func clockChange(before, after *store.GPUSnapshot) (store.GPUClockChange, bool) {
	known := func(c store.GPUColumn) bool { return before.Known(c) && after.Known(c) }
	c := store.GPUClockChange{At: after.At, GPU: after.GPU, ReasonsUnknown: !known(store.GPUReasons)}
	changed := false
	if known(store.GPUClock) {
		c.FromMHz, c.ToMHz = before.ClockMHz, after.ClockMHz
		by := max(c.ToMHz-c.FromMHz, c.FromMHz-c.ToMHz)
		changed = by > 0 && after.Known(store.GPUMaxClock) && 100*by >= clockStep*after.MaxMHz
	}
	if !c.ReasonsUnknown {
		c.FromReasons, c.ToReasons = before.Reasons, after.Reasons
		changed = changed || c.FromReasons != c.ToReasons
	}
	return c, changed
}

// clockChanges adds to a batch how a reading differs from the GPU's last one.
func (g *gpus) clockChanges(s *store.GPUSnapshot, b *store.Batch) {
	last, ok := g.last[s.GPU]
	g.last[s.GPU] = *s
	if c, changed := clockChange(&last, s); ok && changed {
		b.GPUClocks = append(b.GPUClocks, c)
	}
}
