package stats

import (
	"cmp"
	"math"
	"slices"
)

// Percentile returns the smallest value that at least a share q in [0, 1] of values does not exceed; 0 if there are
// none. It is exact and does not change values; use a Histogram for more than a few thousand of them.
func Percentile[T cmp.Ordered](values []T, q float64) (v T) {
	if len(values) == 0 {
		return v
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median returns the lower median of values, 0 if there are none.
func Median[T cmp.Ordered](values []T) T { return Percentile(values, 0.5) }

// Upper returns the upper median of values in any order, 0 if there are none. It does not change values.
func Upper[T cmp.Ordered](values []T) (v T) {
	if len(values) == 0 {
		return v
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// Nearest returns the value of a sorted list that is nearest to a quantile q in [0, 1], 0 if there are none; Floor
// returns the one at it or before.
func Nearest[T cmp.Ordered](sorted []T, q float64) T { return at(sorted, q*float64(len(sorted)-1)+0.5) }

// Floor returns the value of a sorted list at a quantile q in [0, 1] or before, 0 if there are none.
func Floor[T cmp.Ordered](sorted []T, q float64) T { return at(sorted, q*float64(len(sorted)-1)) }

func at[T cmp.Ordered](sorted []T, i float64) (v T) {
	if len(sorted) == 0 {
		return v
	}
	return sorted[int(i)]
}
