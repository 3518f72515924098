package stats

import (
	"math"
	"slices"
)

// Percentile returns the smallest value that at least a share q in [0, 1] of values does not exceed; 0 if there are
// none. It is exact and does not change values; use a Histogram for more than a few thousand of them.
func Percentile(values []uint64, q float64) uint64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median returns the lower median of values, 0 if there are none.
func Median(values []uint64) uint64 { return Percentile(values, 0.5) }
