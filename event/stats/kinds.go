package stats

import "math"

// Kind is a group of values that are far from the others.
type Kind struct {
	Count  uint64
	Median uint64
}

// The conditions for two kinds of values: a factor of kindGap lies between them, with at most kindBetween of the
// smaller kind in it, and each kind has its minimum share.
const (
	kindGap     = 2 * perOctave // buckets: a factor of 4
	kindBetween = 0.05
	kindShare   = 0.01
	kindLeast   = 10 // values
)

// Kinds separates short values from long ones if there are hardly any in between, such as waits without and with work
// to wait for: then the median of all values says nothing about the smaller kind. It returns false if there are not
// two kinds.
func (h *Histogram) Kinds() (brief, long Kind, two bool) {
	last := len(h.counts) - 1
	below := make([]uint64, last+2) // below[i] is the number of values in counts[:i]
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
	short := below[best-kindGap/2] // values in between go to the nearer kind
	at := func(rank uint64) uint64 { return h.Quantile(float64(rank) / float64(h.n)) }
	brief = Kind{short, at(short / 2)}
	long = Kind{h.n - short, at(short + (h.n-short)/2)}
	return brief, long, true
}
