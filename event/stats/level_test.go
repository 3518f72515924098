package stats_test

import (
	"testing"

	"github.com/ingero-io/ingero/event/stats"
)

func TestLevelsOfASeries(t *testing.T) {
	noisy := func(i int) float64 { return []float64{0, 0.3, -0.2, 0.1, -0.3}[i%5] }
	for name, c := range map[string]struct {
		value func(i int) float64
		ratio float64
		want  []int
	}{
		"steady":          {func(i int) float64 { return 10 + noisy(i) }, 1.15, nil},
		"drifting little": {func(i int) float64 { return 10 + float64(i)/60 }, 1.15, nil},
		"one change":      {func(i int) float64 { return 10 + noisy(i) + 4*above(i, 23) }, 1.15, []int{23}},
		"there and back": {
			func(i int) float64 { return 10 + noisy(i) + 4*above(i, 20) - 4*above(i, 45) }, 1.15,
			[]int{20, 45},
		},
		"one more call":   {func(i int) float64 { return 24 + above(i, 30) }, 1.03, []int{30}},
		"a share of time": {func(i int) float64 { return 0.02*above(i, 10) + 0.2*above(i, 40) }, 0, []int{40}},
		"one bad value":   {func(i int) float64 { return 10 + 90*(above(i, 30)-above(i, 31)) }, 1.15, nil},
	} {
		var v []float64
		for i := range 60 {
			v = append(v, c.value(i))
		}
		got := stats.Levels(v, c.ratio)
		same := len(got) == len(c.want)+1
		for i := 0; same && i < len(c.want); i++ {
			same = got[i+1].From == c.want[i]
		}
		if !same {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
}

// above returns 1 from an index on, before that 0.
func above(i, from int) float64 {
	if i < from {
		return 0
	}
	return 1
}
