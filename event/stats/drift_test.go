package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/event/stats"
)

// ramp returns a level up to a value, and then a straight line.
func ramp(r *rand.Rand, n, from int, slope, noise float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1 + slope*float64(max(0, i-from)) + noise*r.NormFloat64()
	}
	return v
}

func TestADriftIsNoChangeOfLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		n, noise := 40+r.IntN(160), 0.01+0.04*r.Float64()
		from := r.IntN(n / 2)
		slope := (0.3 + r.Float64()) / float64(n-from)
		d, ok := stats.FindDrift(ramp(r, n, from, slope, noise), 3, 0.01)
		if !ok || math.Abs(d.Slope-slope) > slope/2 || math.Abs(d.Level-1) > 0.1 {
			t.Errorf("%d values, from %d on %g, noise %g: %+v, %v", n, from, slope, noise, d, ok)
		}
	}
}

func TestAChangeOfLevelIsNoDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for i := range 600 {
		n, noise := float64(6+r.IntN(90)), 0.01+0.03*r.Float64()
		up := 1.25 + r.Float64()
		v := series(r, noise, n, 1, float64(6+r.IntN(90)), up)
		switch i % 3 {
		case 1:
			v = series(r, noise, n, 1, n, up, n, 1)
		case 2:
			v = series(r, noise, n+20, 1)
		}
		if d, ok := stats.FindDrift(v, 3, 0.01); ok {
			t.Errorf("%d values, kind %d, to %g with noise %g: %+v", len(v), i%3, up, noise, d)
		}
	}
}
