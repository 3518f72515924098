package stats

import "math"

// Kind is a part of values that lie far from the others.
type Kind struct {
	Count  uint64
	Median uint64
}

// When values are of two kinds: a factor of kindGap lies between them, in which there are at
// most kindBetween of the fewer, and each kind has its share.
const (
	kindGap     = 2 * perOctave // buckets: a factor of 4
	kindBetween = 0.05
	kindShare   = 0.01
	kindLeast   = 10 // values
)

// Kinds tells short values from long ones where they are of two kinds with hardly any in
// between, as empty waits and those for something: then the median of all of them says
// nothing of the fewer. It is false if they are not.
func (h *Histogram) Kinds() (brief, long Kind, two bool) {
	last := len(h.counts) - 1
	below := make([]uint64, last+2) // below[i] is how many values are in counts[:i]
	for i, n := range h.counts {
		below[i+1] = below[i] + uint64(n)
	}
	best, least := 0, math.Inf(1)
	for i := kindGap; i <= last; i++ { // the gap is counts[i-kindGap:i]
		short, between := below[i-kindGap], below[i]-below[i-kindGap]
		fewer := min(short, h.n-below[i])
		if fewer < kindLeast || float64(fewer) < kindShare*float64(h.n) {
			continue
		}
		if share := float64(between) / float64(fewer); share <= kindBetween && share < least {
			best, least = i, share
		}
	}
	if best == 0 {
		return brief, long, false
	}
	short := below[best-kindGap/2] // those in between go to the nearer
	at := func(rank uint64) uint64 { return h.Quantile(float64(rank) / float64(h.n)) }
	brief = Kind{short, at(short / 2)}
	long = Kind{h.n - short, at(short + (h.n-short)/2)}
	return brief, long, true
}
