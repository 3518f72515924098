package stats

import (
	"math"
	"slices"
)

// penalty is what one more segment must gain, in multiples of ln n: 2 is the Bayesian information
// criterion for a place and a mean. It is larger because values one after the other are alike.
const penalty = 5

// Segments splits a series into parts of different means, and returns the index at which each
// begins, the first 0. Each has at least so many values. It minimizes the sum of the squared
// distances from the means, in units of the noise's variance, plus a penalty for each segment, and
// finds the best of all divisions (optimal partitioning, pruned: PELT; Killick, Fearnhead and
// Eckley, 2012). The noise is taken from the differences of neighbours, which changes of the mean
// hardly touch; it is at least the given one.
func Segments(v []float64, least int, noise float64) []int {
	n := len(v)
	if least = max(least, 1); n < 2*least {
		return []int{0}
	}
	sum, square := make([]float64, n+1), make([]float64, n+1)
	for i, x := range v {
		sum[i+1], square[i+1] = sum[i]+x, square[i]+x*x
	}
	sigma := math.Max(noise, spread(v))
	cost := func(from, to int) float64 { // of v[from:to]
		d := sum[to] - sum[from]
		return math.Max(0, square[to]-square[from]-d*d/float64(to-from)) / (sigma * sigma)
	}
	more := penalty * math.Log(float64(n))
	best, last := make([]float64, n+1), make([]int, n+1)
	best[0] = -more
	starts := []int{0}
	for to := least; to <= n; to++ {
		best[to] = math.Inf(1)
		for _, from := range starts {
			if c := best[from] + cost(from, to) + more; c < best[to] {
				best[to], last[to] = c, from
			}
		}
		starts = slices.DeleteFunc(starts, func(from int) bool { return best[from]+cost(from, to) > best[to]+more })
		if from := to - least + 1; from >= least {
			starts = append(starts, from)
		}
	}
	var list []int
	for to := n; to > 0; to = last[to] {
		list = append(list, last[to])
	}
	slices.Reverse(list)
	return list
}

// spread is the standard deviation of a series' noise, from the median distance of neighbours, as
// if it were normal.
func spread(v []float64) float64 {
	d := make([]float64, 0, len(v))
	for i := 1; i < len(v); i++ {
		d = append(d, math.Abs(v[i]-v[i-1]))
	}
	return 1.4826 * Middle(d) / math.Sqrt2
}
