package stats

import "math"

// DivisionCost returns what Segments minimizes.
func DivisionCost(v []float64, begins []int, noise float64) (c float64) {
	sigma := math.Max(noise, spread(v))
	for i, from := range begins {
		to := len(v)
		if i+1 < len(begins) {
			to = begins[i+1]
		}
		var sum float64
		for _, x := range v[from:to] {
			sum += x
		}
		mean := sum / float64(to-from)
		for _, x := range v[from:to] {
			c += (x - mean) * (x - mean) / (sigma * sigma)
		}
		c += penalty * math.Log(float64(len(v)))
	}
	return c
}
