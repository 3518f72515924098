// Package outlier finds numbers that are far from the others, by the median and the median absolute deviation (MAD),
// which a few wrong numbers cannot move. It is pure.
package outlier

import (
	"math"
	"slices"
)

const (
	// Sigmas is the default distance of an outlier from the median, in standard deviations. It is what Iglewicz and
	// Hoaglin recommend for the MAD.
	Sigmas = 3.5
	// Fewest is the least number of values: of two, each is as far from the other.
	Fewest = 3
	// perMAD converts a MAD to the standard deviation of normally distributed numbers.
	perMAD = 1.4826
	// floor is the least standard deviation, as a share of the median. If most numbers are equal, the MAD is 0, and the
	// smallest difference would be infinitely far away.
	floor = 0.01
)

// Worse says which side is the bad one.
type Worse uint8

// The sides.
const (
	Both Worse = iota
	Higher
	Lower
)

// Spread describes the distribution of some numbers.
type Spread struct {
	N           int
	Median, MAD float64
	// Sigma is the standard deviation to measure by. Floored says that it is a share of the median, because the MAD
	// gives less.
	Sigma   float64
	Floored bool
}

// Of returns the spread of numbers, without those that are not finite. It does not change the list.
func Of(numbers []float64) Spread {
	list := finite(numbers)
	s := Spread{N: len(list)}
	if s.N == 0 {
		return s
	}
	s.Median = sorted(list)
	for i := range list {
		list[i] = math.Abs(list[i] - s.Median)
	}
	s.MAD = sorted(list)
	s.Sigma = perMAD * s.MAD
	if least := floor * math.Abs(s.Median); s.Sigma < least {
		s.Sigma, s.Floored = least, true
	}
	return s
}

// Away returns how far a number is from the median towards the worse, in standard deviations; negative on the good
// side. If all other numbers are 0, it is infinite.
func (s Spread) Away(x float64, worse Worse) float64 {
	d := x - s.Median
	switch worse {
	case Both:
		d = math.Abs(d)
	case Lower:
		d = -d
	}
	switch {
	case d == 0:
		return 0
	case s.Sigma == 0:
		return math.Copysign(math.Inf(1), d)
	}
	return d / s.Sigma
}

// Median returns the median of numbers; NaN: there are none.
func Median(numbers []float64) float64 {
	list := finite(numbers)
	if len(list) == 0 {
		return math.NaN()
	}
	return sorted(list)
}

// sorted sorts a non-empty list, and returns its median.
func sorted(list []float64) float64 {
	slices.Sort(list)
	half := len(list) / 2
	if len(list)%2 == 1 {
		return list[half]
	}
	return list[half-1] + (list[half]-list[half-1])/2
}

func finite(numbers []float64) []float64 {
	list := make([]float64, 0, len(numbers))
	for _, x := range numbers {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			list = append(list, x)
		}
	}
	return list
}
