package stats

import (
	"cmp"
	"math"
	"slices"
)

// penalty is what one more segment must gain, in multiples of ln n. 2 is the Bayesian information criterion for a
// position and a mean; it is larger because consecutive values are alike.
const penalty = 5

// Segments splits a series into parts of different means, and returns the index at which each begins, the first 0.
// Each has at least least values. It minimizes the sum of the squared distances from the means, in units of the
// noise's variance, plus a penalty per segment, over all divisions (optimal partitioning, pruned: PELT; Killick,
// Fearnhead and Eckley, 2012). The noise is taken from the differences of neighbours, which changes of the mean
// hardly affect; it is at least noise.
func Segments(v []float64, least int, noise float64) []int {
	list, _ := segments(v, least, noise)
	return list
}

// segments also returns the minimum, without the penalty for the first segment.
func segments(v []float64, least int, noise float64) ([]int, float64) {
	n := len(v)
	least = max(least, 1)
	if n == 0 {
		return []int{0}, 0
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
	if n < 2*least {
		return []int{0}, cost(0, n)
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
	return list, best[n]
}

// The conditions for a change of level to be noticeable.
const (
	minShare   = 0.05 // the least change of a share
	levelNoise = 0.01 // least standard deviation of a series: a share, or of its median
	levelPart  = 2    // minimum number of values of a level
)

// Level is a part of a series.
type Level struct {
	From   int     // index of its first value
	Middle float64 // median
}

// Levels splits a series as Segments does, and joins neighbours that do not differ noticeably: by the ratio of their
// medians, or, if that is 0, by minShare.
func Levels(v []float64, ratio float64) []Level {
	if len(v) == 0 {
		return nil
	}
	noise := levelNoise
	if ratio != 0 {
		noise *= math.Abs(Middle(v))
	}
	begins := Segments(v, levelPart, math.Max(noise, math.SmallestNonzeroFloat32))
	end := func(i int) int {
		if i+1 < len(begins) {
			return begins[i+1]
		}
		return len(v)
	}
	for i := 1; i < len(begins); {
		a, b := v[begins[i-1]:begins[i]], v[begins[i]:end(i)]
		x, y := Middle(a), Middle(b)
		if len(a) == levelPart || len(b) == levelPart {
			x, y = nearest(a, y), nearest(b, x) // one of two values may be a bad one
		}
		if ratio == 0 && math.Abs(x-y) >= minShare || ratio != 0 && max(x, y) >= ratio*min(x, y) && x != y {
			i++
			continue
		}
		begins = slices.Delete(begins, i, i+1)
	}
	list := make([]Level, len(begins))
	for i, from := range begins {
		list[i] = Level{from, Middle(v[from:end(i)])}
	}
	return list
}

// nearest returns the value nearest to x in a part of levelPart values, otherwise the part's median.
func nearest(part []float64, x float64) float64 {
	if len(part) != levelPart {
		return Middle(part)
	}
	return slices.MinFunc(part, func(a, b float64) int { return cmp.Compare(math.Abs(a-x), math.Abs(b-x)) })
}

// spread returns the standard deviation of a series' noise from the median distance of neighbours, as if it were
// normal.
func spread(v []float64) float64 {
	d := make([]float64, 0, len(v))
	for i := 1; i < len(v); i++ {
		d = append(d, math.Abs(v[i]-v[i-1]))
	}
	return 1.4826 * Middle(d) / math.Sqrt2
}
