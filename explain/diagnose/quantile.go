package diagnose

import (
	"cmp"
	"math"
	"slices"
)

// medianOf returns the median of a value of the list's elements.
func medianOf[T any](list []T, of func(*T) float64) float64 {
	return quantileOf(list, 0.5, of, func(*T) uint64 { return 1 })
}

// quantileOf returns a quantile of a value of the list's elements, weighted; 0 if there are none.
func quantileOf[T any](list []T, q float64, of func(*T) float64, weight func(*T) uint64) float64 {
	type value struct {
		v float64
		n uint64
	}
	all := make([]value, 0, len(list))
	var total uint64
	for i := range list {
		v := value{of(&list[i]), weight(&list[i])}
		all, total = append(all, v), total+v.n
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	var sum uint64
	for _, v := range all {
		if sum += v.n; float64(sum) >= q*float64(total) {
			return v.v
		}
	}
	return 0
}

// extremesOf returns the smallest and the largest value of the list's elements.
func extremesOf[T any](list []T, of func(*T) float64) (low, high float64) {
	low = math.MaxFloat64
	for i := range list {
		low, high = min(low, of(&list[i])), max(high, of(&list[i]))
	}
	return low, high
}
