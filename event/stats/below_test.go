package stats_test

import (
	"testing"

	"github.com/ingero-io/ingero/event/stats"
)

func TestBelowAddsUpWhatIsSmaller(t *testing.T) {
	var h stats.Histogram
	var want uint64
	for v := uint64(1000); v < 2000; v += 10 {
		h.Add(v)
		if v < 1500 {
			want += v
		}
	}
	n, sum := h.Below(1500)
	if n < 48 || n > 50 {
		t.Errorf("%d values below 1500, want about 50", n)
	}
	if r := float64(sum) / float64(want); r < 0.94 || r > 1.02 {
		t.Errorf("they add up to %d, want about %d", sum, want)
	}
	if n, sum := h.Below(10); n != 0 || sum != 0 {
		t.Errorf("%d values below all of them", n)
	}
	if n, _ := h.Below(1 << 40); n != h.Count() {
		t.Errorf("%d of %d values below a large one", n, h.Count())
	}
}
