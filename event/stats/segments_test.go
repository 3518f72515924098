package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event/stats"
)

// series returns so many values around each mean.
func series(r *rand.Rand, noise float64, parts ...float64) (v []float64) {
	for i := 0; i < len(parts); i += 2 {
		for range int(parts[i]) {
			v = append(v, parts[i+1]+noise*r.NormFloat64())
		}
	}
	return v
}

func TestSegmentsBeginWhereTheMeanChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, tt := range map[string]struct {
		v    []float64
		want []int
	}{
		"none":         {series(r, 0.02, 60, 1), []int{0}},
		"one":          {series(r, 0.02, 30, 1, 30, 1.2), []int{0, 30}},
		"early":        {series(r, 0.02, 4, 1, 56, 1.3), []int{0, 4}},
		"two":          {series(r, 0.02, 20, 1, 20, 1.4, 20, 1), []int{0, 20, 40}},
		"stairs":       {series(r, 0.02, 20, 1, 20, 1.2, 20, 1.4), []int{0, 20, 40}},
		"exact":        {series(r, 0, 10, 1, 10, 2), []int{0, 10}},
		"constant":     {series(r, 0, 50, 1), []int{0}},
		"short":        {[]float64{1, 2, 3}, []int{0}},
		"empty":        {nil, []int{0}},
		"single spike": {append(append(series(r, 0.02, 20, 1), 1.2), series(r, 0.02, 20, 1)...), []int{0}},
	} {
		if got := stats.Segments(tt.v, 3, 0.01); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// The pruning must not lose the best division, which trying all of them finds.
func TestSegmentsAreTheBestDivision(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n := func() float64 { return float64(3 + r.IntN(8)) }
		v := series(r, 0.05, n(), r.Float64(), n(), r.Float64(), n(), r.Float64())
		got := stats.Segments(v, 3, 0.02)
		cost, best := stats.DivisionCost(v, got, 0.02), stats.DivisionCost(v, exhaustive(v, 3, 0.02), 0.02)
		if cost > best+1e-9 {
			t.Fatalf("division %v costs %g, the best %g", got, cost, best)
		}
	}
}

// exhaustive finds the best division by trying all of them.
func exhaustive(v []float64, least int, noise float64) []int {
	best, cheapest := []int{0}, math.Inf(1)
	var try func(list []int)
	try = func(list []int) {
		if c := stats.DivisionCost(v, list, noise); c < cheapest {
			best, cheapest = slices.Clone(list), c
		}
		for at := list[len(list)-1] + least; at+least <= len(v); at++ {
			try(append(slices.Clone(list), at))
		}
	}
	try([]int{0})
	return best
}

// Noise alone is hardly ever divided, even if consecutive values are alike.
func TestNoiseIsOneSegment(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, tt := range map[string]struct {
		alike float64 // share that a value takes from the one before
		most  int     // of 500
	}{"independent": {0, 15}, "alike": {0.3, 60}} {
		divided := 0
		for range 500 {
			v, x := make([]float64, 20+r.IntN(200)), 0.0
			for i := range v {
				x = tt.alike*x + r.NormFloat64()
				v[i] = 1 + 0.05*x
			}
			if len(stats.Segments(v, 3, 0.01)) > 1 {
				divided++
			}
		}
		if divided > tt.most {
			t.Errorf("%s: %d of 500 series of noise are divided", name, divided)
		}
	}
}
