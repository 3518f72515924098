package stats

import (
	"math"
	"slices"
)

// The conditions for a change of a series to be noticeable.
const (
	minShare = 0.05 // the least change of a share
	minNoise = 4    // times the usual distance of a value from the median of its part
	minPart  = 2    // minimum number of values of a part
)

// Change is a place in a series where its level changes.
type Change struct {
	At            int
	Before, After float64 // medians
}

// Changes splits a series where its parts differ most, and splits those again, as long as the parts
// differ noticeably: by the ratio of their medians, or, if that is 0, by minShare.
func Changes(v []float64, ratio float64) []Change { return changes(v, 0, ratio) }

// changes adds base to the places.
func changes(v []float64, base int, ratio float64) []Change {
	best := Split(v)
	if best < minPart || len(v)-best < minPart {
		return nil
	}
	x, y := Middle(v[:best]), Middle(v[best:])
	noise := Middle(append(distances(v[:best], x), distances(v[best:], y)...))
	noticeable := max(x, y) >= ratio*min(x, y)
	if ratio == 0 {
		noticeable = math.Abs(x-y) >= minShare
	}
	if !noticeable || math.Abs(x-y) <= minNoise*noise {
		return nil
	}
	list := changes(v[:best], base, ratio)
	list = append(list, Change{base + best, x, y})
	return append(list, changes(v[best:], base+best, ratio)...)
}

// Split is the place in a series where the means of the two sides differ most, weighted by the
// number of values.
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

func distances(v []float64, from float64) []float64 {
	var d []float64
	for _, x := range v {
		d = append(d, math.Abs(x-from))
	}
	return d
}

// Middle is the median of values, which may be in any order: for an even number the mean of the two
// in the middle; 0 without values.
func Middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
