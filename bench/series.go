package bench

import (
	"math"
	"slices"
)

// series are the figures of one condition, one for each round.
type series []float64

func (s series) min() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Min(s)
}

// quantile interpolates between the two nearest values.
func (s series) quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(s))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

func (s series) median() float64 { return s.quantile(0.5) }

// twoSE is two standard errors of the median, estimated from the quartiles so that a disturbed
// round does not count. The quartiles of a normal distribution are 1.349 standard deviations apart,
// and the standard error of its median is 1.2533 times that of its mean. It is 0 for one round.
func (s series) twoSE() float64 {
	if len(s) < 2 {
		return 0
	}
	sd := (s.quantile(0.75) - s.quantile(0.25)) / 1.349
	return 2 * 1.2533 * sd / math.Sqrt(float64(len(s)))
}

// estimate is a figure computed from rounds of several conditions, and how far it moves if any one
// round is left out.
func estimate(f func(s ...series) float64, s ...series) (v, moves float64) {
	v = f(s...)
	rest := make([]series, len(s))
	for i := range s[0] {
		if len(s[0]) < 2 {
			break
		}
		for k := range s {
			rest[k] = slices.Delete(slices.Clone(s[k]), i, i+1)
		}
		moves = max(moves, math.Abs(f(rest...)-v))
	}
	return v, moves
}

// over combines two conditions round by round.
func (s series) over(t series, f func(a, b float64) float64) series {
	r := make(series, min(len(s), len(t)))
	for i := range r {
		r[i] = f(s[i], t[i])
	}
	return r
}

func minus(a, b float64) float64 { return a - b }
func ratio(a, b float64) float64 { return a / b }
