package stats

import (
	"math"
	"slices"
)

// Split returns the index in a series where the means of the two sides differ most, weighted by the number of values.
func Split(v []float64) (best int) {
	var sum, left, most float64
	for _, x := range v {
		sum += x
	}
	for i := 1; i < len(v); i++ {
		left += v[i-1]
		n, m := float64(i), float64(len(v)-i)
		if d := math.Abs(left/n-(sum-left)/m) * math.Sqrt(n*m); d > most*(1+1e-9) {
			best, most = i, d
		}
	}
	return best
}

// Middle returns the median of values in any order: for an even number the mean of the middle two; 0 without values.
func Middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
