package stats_test

import (
	"testing"

	"github.com/ingero-io/ingero/event/stats"
)

// TestTwoKindsOfValues: 10,000 empty waits are not the usual for the 777 that wait.
func TestTwoKindsOfValues(t *testing.T) {
	near := func(got, want uint64) bool { return got > want*98/100 && got < want*102/100 }
	var h stats.Histogram
	for i := range uint32(10_000) {
		h.Add(uint64(2000 + i%200))
	}
	for i := range uint32(777) {
		h.Add(uint64(12_000_000 + i%500_000))
	}
	brief, long, two := h.Kinds()
	if !two || brief.Count != 10_000 || long.Count != 777 || !near(brief.Median, 2100) || !near(long.Median, 12_000_388) {
		t.Errorf("%+v and %+v, %t", brief, long, two)
	}
	for name, values := range map[string]func(i int) uint64{
		"alike":        func(i int) uint64 { return uint64(2000 + i) },
		"spread":       func(i int) uint64 { return 1000 << (i % 12) },
		"one outlier":  func(i int) uint64 { return uint64(2000 + 1_000_000*(i/999)) },
		"nothing":      nil,
		"within twice": func(i int) uint64 { return uint64(2000 * (1 + i%2)) },
	} {
		var h stats.Histogram
		for i := 0; values != nil && i < 1000; i++ {
			h.Add(values(i))
		}
		if brief, long, two := h.Kinds(); two {
			t.Errorf("%s: %+v and %+v", name, brief, long)
		}
	}
}
