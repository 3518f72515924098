package arrival

import (
	"slices"

	"github.com/ingero-io/ingero/echo/outlier"
)

// lateness returns how much later than the median of the others each rank entered.
func lateness(one []Span) []float64 {
	times := make([]float64, len(one))
	for i, s := range one {
		times[i] = float64(max(0, s.Exit-s.Enter))
	}
	others := without(times)
	for i := range times {
		times[i] = others(i) - times[i]
	}
	return times
}

// usual returns how much the lateness of ranks varies, each rank's about its own median: if half of the ranks are late
// each time, how late all are does not say what is usual. If ranks are late half of the time, neither do their medians;
// then it is the median of half-widths.
func (c *comparison) usual(late [][]float64) float64 {
	of := map[Process][]float64{}
	for i, one := range c.collectives {
		for k := range one {
			of[one[k].Process] = append(of[one[k].Process], late[i][k])
		}
	}
	var all, widths []float64
	for _, list := range of {
		median := outlier.Median(list)
		for _, l := range list {
			all = append(all, l-median)
		}
		widths = append(widths, halfWidth(list))
	}
	mad := outlier.Of(all).MAD
	if half := outlier.Median(widths); mad > twoGroups*half {
		return half
	}
	return mad
}

// without returns a function that returns the median of all numbers except the i-th.
func without(numbers []float64) func(i int) float64 {
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	copied := slices.Clone(numbers)
	return func(i int) float64 {
		at, _ := slices.BinarySearch(sorted, copied[i])
		get := func(k int) float64 { // of the sorted list without the i-th number
			if k >= at {
				k++
			}
			return sorted[k]
		}
		n := len(sorted) - 1
		if n%2 == 1 {
			return get(n / 2)
		}
		return (get(n/2-1) + get(n/2)) / 2
	}
}

// every returns the distance between late collectives, if most have the same, otherwise 0.
func every(seqs map[string][]int64) int64 {
	counts, all := map[int64]int{}, 0
	for _, list := range seqs {
		slices.Sort(list)
		for i := 1; i < len(list); i++ {
			counts[list[i]-list[i-1]]++
			all++
		}
	}
	for d, n := range counts {
		if all >= fewestLate && float64(n) >= regular*float64(all) {
			return d
		}
	}
	return 0
}

// halfWidth returns half the width of the shortest interval that has half of the numbers. It is what the MAD is of one
// group, but also holds if two groups have half of the numbers each. For few numbers it is enlarged as Rousseeuw and
// Leroy do (Robust Regression and Outlier Detection, 1987): the shortest of many intervals is short by chance.
func halfWidth(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	h := (len(sorted) + 1) / 2
	width := sorted[h-1] - sorted[0]
	for i := 1; i+h <= len(sorted); i++ {
		width = min(width, sorted[i+h-1]-sorted[i])
	}
	return width / 2 * (1 + 5/float64(max(1, len(sorted)-1)))
}
