package bench

import (
	"math"
	"testing"
)

func TestQuantilesInterpolate(t *testing.T) {
	s := series{4, 1, 3, 2}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.25, 1.75}, {0.5, 2.5}, {1, 4}} {
		if got := s.quantile(c.q); got != c.want {
			t.Errorf("quantile(%g) = %g, want %g", c.q, got, c.want)
		}
	}
	if s[0] != 4 {
		t.Error("quantile changed the order of the series")
	}
	if !math.IsNaN(series(nil).median()) || !math.IsNaN(series(nil).min()) {
		t.Error("an empty series has a median or a minimum")
	}
}

func TestTheErrorOfTheMedianIgnoresADisturbedRound(t *testing.T) {
	calm, disturbed := series{10, 11, 12, 13, 14, 15, 16}, series{10, 11, 12, 13, 14, 15, 1600}
	if c, d := calm.twoSE(), disturbed.twoSE(); c != d || c <= 0 {
		t.Errorf("errors %g and %g, want the same", c, d)
	}
	if e := (series{5}).twoSE(); e != 0 {
		t.Errorf("one round has an error of %g", e)
	}
}

func TestAnEstimateSaysHowMuchOneRoundMovesIt(t *testing.T) {
	least := func(s ...series) float64 { return s[0].min() - s[1].min() }
	v, moves := estimate(least, series{110, 105, 107}, series{100, 101, 102})
	if v != 5 || moves != 2 { // without the second round 107 - 100
		t.Errorf("estimate %g, moves %g; want 5 and 2", v, moves)
	}
	if v, moves := estimate(least, series{3}, series{1}); v != 2 || moves != 0 {
		t.Errorf("of one round %g, %g; want 2 and 0", v, moves)
	}
}

func TestOverPairsRounds(t *testing.T) {
	got := series{6, 8, 1}.over(series{2, 4}, ratio)
	if len(got) != 2 || got[0] != 3 || got[1] != 2 {
		t.Errorf("got %v", got)
	}
}
