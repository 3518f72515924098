package load

import (
	"math"
	"testing"
)

func TestSlope(t *testing.T) {
	var list []sample
	for i := range 100 {
		v := 1e6 + 2e3*float64(i)
		if i < 20 { // grows while caches fill
			v = 5e4 * float64(i)
		}
		list = append(list, sample{float64(i) * 1.5, v + 100*float64(i%2)})
	}
	if got := slope(list); math.Abs(got-2e3/1.5) > 5 {
		t.Errorf("%v bytes a second", got)
	}
	for _, few := range [][]sample{nil, list[:1]} {
		if got := slope(few); got != 0 {
			t.Errorf("%v of %d samples", got, len(few))
		}
	}
}
