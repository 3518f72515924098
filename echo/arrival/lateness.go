package arrival

import "slices"

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
