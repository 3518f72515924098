package outlier_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/echo/outlier"
)

func TestOf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		numbers []float64
		want    outlier.Spread
	}{
		"none":            {nil, outlier.Spread{}},
		"nothing finite":  {[]float64{nan, inf, -inf}, outlier.Spread{}},
		"one":             {[]float64{7}, outlier.Spread{N: 1, Median: 7, Sigma: 0.07, Floored: true}},
		"odd":             {[]float64{9, 1, 5}, outlier.Spread{N: 3, Median: 5, MAD: 4, Sigma: 5.9304}},
		"even":            {[]float64{1, 2, 4, 100}, outlier.Spread{N: 4, Median: 3, MAD: 1.5, Sigma: 2.2239}},
		"all the same":    {[]float64{0.95, 0.95, 0.95}, outlier.Spread{N: 3, Median: 0.95, Sigma: 0.0095, Floored: true}},
		"zeros":           {[]float64{0, 0, 0}, outlier.Spread{N: 3}},
		"below zero":      {[]float64{-5, -5, -5}, outlier.Spread{N: 3, Median: -5, Sigma: 0.05, Floored: true}},
		"one is no value": {[]float64{2, nan, 2}, outlier.Spread{N: 2, Median: 2, Sigma: 0.02, Floored: true}},
		"the greatest":    {[]float64{math.MaxFloat64, math.MaxFloat64}, outlier.Spread{N: 2, Median: math.MaxFloat64, Sigma: math.MaxFloat64 * 0.01, Floored: true}},
	} {
		before := slices.Clone(c.numbers)
		if got := outlier.Of(c.numbers); math.Abs(got.Sigma-c.want.Sigma) > c.want.Sigma*1e-9 || got.N != c.want.N ||
			got.Median != c.want.Median || got.MAD != c.want.MAD || got.Floored != c.want.Floored {
			t.Errorf("%s: %+v; want %+v", name, got, c.want)
		}
		if len(before) > 0 && !math.IsNaN(before[0]) && before[0] != c.numbers[0] {
			t.Errorf("%s: the list is changed", name)
		}
	}
}

// Health scores of eight nodes, one of them low: the published example.
func TestAway(t *testing.T) {
	scores := []float64{0.95, 0.96, 0.94, 0.95, 0.31, 0.95, 0.97, 0.93}
	s := outlier.Of(scores) // median 0.95, MAD 0.01
	for _, c := range []struct {
		x     float64
		worse outlier.Worse
		want  float64
	}{
		{0.31, outlier.Lower, 0.64 / 0.014826},
		{0.31, outlier.Higher, -0.64 / 0.014826},
		{0.31, outlier.Both, 0.64 / 0.014826},
		{0.97, outlier.Both, 0.02 / 0.014826},
		{0.97, outlier.Lower, -0.02 / 0.014826},
		{0.95, outlier.Lower, 0},
	} {
		if got := s.Away(c.x, c.worse); math.Abs(got-c.want) > 1e-6*math.Abs(c.want) {
			t.Errorf("%v: %v away; want %v", c.x, got, c.want)
		}
	}
	zeros := outlier.Of([]float64{0, 0, 0, 5})
	if got := zeros.Away(5, outlier.Higher); !math.IsInf(got, 1) {
		t.Errorf("5 among zeros is %v away", got)
	}
	if got := zeros.Away(0, outlier.Both); got != 0 {
		t.Errorf("0 among zeros is %v away", got)
	}
}

// In numbers without an outlier, 3.5 sigmas find none; with one, only that one.
func TestMostAreNear(t *testing.T) {
	var list []float64
	for i := range 100 {
		list = append(list, 100+5*math.Sin(float64(i)*2.3))
	}
	s := outlier.Of(list)
	for _, x := range list {
		if s.Away(x, outlier.Both) > outlier.Sigmas {
			t.Errorf("%v is an outlier of %+v", x, s)
		}
	}
	if got := outlier.Of(append(list, 250)).Away(250, outlier.Higher); got < outlier.Sigmas {
		t.Errorf("250 is only %v away", got)
	}
}

func TestMedian(t *testing.T) {
	if got := outlier.Median([]float64{3, math.NaN(), 1, 2}); got != 2 {
		t.Error(got)
	}
	if got := outlier.Median(nil); !math.IsNaN(got) {
		t.Error(got)
	}
}
