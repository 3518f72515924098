package mcptool

import "testing"

func TestRateOfLaunches(t *testing.T) {
	for _, c := range []struct {
		bySecond    map[uint64]uint64
		mean        float64
		least, most uint64
	}{
		{map[uint64]uint64{}, 0, 0, 0},
		{map[uint64]uint64{5: 30}, 15, 15, 15},          // of two seconds
		{map[uint64]uint64{5: 30, 6: 31}, 30.5, 30, 31}, // neither is full
		{map[uint64]uint64{5: 3, 6: 100, 7: 120, 8: 9}, 110, 100, 120},
		{map[uint64]uint64{5: 3, 6: 100, 1 << 40: 9}, 100, 0, 100},
	} {
		if mean, least, most := rate(c.bySecond, 2e9); mean != c.mean || least != c.least || most != c.most {
			t.Errorf("%v: %v from %d to %d, want %v", c.bySecond, mean, least, most, c)
		}
	}
}

// TestNoRateOfAGraphFromFewLaunches: two that stand for many say nothing of how often.
func TestNoRateOfAGraphFromFewLaunches(t *testing.T) {
	for _, c := range []struct {
		g    graphLife
		want float64
	}{
		{graphLife{Launches: 29, stored: 2, first: 1e9, last: 1e9 + 26e6}, 0},
		{graphLife{Launches: 33, stored: 1, first: 1e9, last: 1e9}, 0},
		{graphLife{Launches: 20, stored: 20, first: 1e9, last: 3e9}, 10},
		{graphLife{Launches: 300, stored: minStored, first: 1e9, last: 4e9}, 100},
	} {
		if got := heats([]graphLife{c.g})[0].Hz; got != c.want {
			t.Errorf("%d launches, %d stored: %v a second, want %v", c.g.Launches, c.g.stored, got, c.want)
		}
	}
}
