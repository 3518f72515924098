package change_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/report"
)

// held returns readings once a second, in MB by second.
func held(seconds int, mb func(s float64) float64) (list []change.Held) {
	for i := range seconds {
		list = append(list, change.Held{At: uint64(100+i) * second, Bytes: uint64(mb(float64(i)) * 1e6)})
	}
	return list
}

func TestMemoryThatGrowsIsDated(t *testing.T) {
	for name, tc := range map[string]struct {
		mb    func(s float64) float64
		since float64 // s; -1: nothing is reported
	}{
		"steady":              {func(float64) float64 { return 3000 }, -1},
		"from the middle on":  {func(s float64) float64 { return 2000 + 10*math.Max(0, s-40) }, 40},
		"all the time":        {func(s float64) float64 { return 1000 + 5*s }, 0},
		"little":              {func(s float64) float64 { return 9000 + s/2 }, -1},
		"a cache fills":       {func(s float64) float64 { return 1000 + 1500*(1-math.Exp(-s/15)) }, -1},
		"it loads":            {func(s float64) float64 { return 500 + 200*math.Min(s, 30) }, -1},
		"given back at times": {func(s float64) float64 { return 1000 + 20*math.Mod(s, 25) }, -1},
		"one more buffer":     {func(s float64) float64 { return 1000 + 800*math.Floor(s/50) }, -1},
		"only at the end":     {func(s float64) float64 { return 1000 + 50*math.Max(0, s-100) }, -1},
		"shrinks":             {func(s float64) float64 { return 3000 - 10*s }, -1},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		list := held(120, func(s float64) float64 { return tc.mb(s) + 5*rng.Float64() })
		c, ok := change.Growth("trainer", 7, "memory", list, list[len(list)-1].At)
		switch {
		case ok != (tc.since >= 0):
			t.Errorf("%s: told %v: %s", name, ok, c.Summary)
		case ok && math.Abs(float64(c.AtNS)/float64(second)-100-tc.since) > 3:
			t.Errorf("%s: since %g s, want %g", name, float64(c.AtNS)/float64(second)-100, tc.since)
		}
	}
}

// TestMemoryWithoutAReadingHolds: a reading is stored only if something changed.
func TestMemoryWithoutAReadingHolds(t *testing.T) {
	list := held(40, func(s float64) float64 { return 1000 + 10*s })
	to := list[len(list)-1].At
	if c, ok := change.Growth("trainer", 7, "memory", list, to); !ok || c.Memory.PerMinuteBytes < 580e6 ||
		c.Memory.PerMinuteBytes > 620e6 || c.Kind != report.ChangeMemory || !strings.Contains(c.Summary, "a minute") {
		t.Errorf("told %v: %+v", ok, c)
	}
	if c, ok := change.Growth("trainer", 7, "memory", list, to+60*second); ok {
		t.Errorf("it stopped growing a minute ago, and is told: %s", c.Summary)
	}
	if _, ok := change.Growth("trainer", 7, "memory", nil, to); ok {
		t.Error("told without readings")
	}
	if _, ok := change.Growth("trainer", 7, "memory", held(60, func(float64) float64 { return 0 }), 160*second); ok {
		t.Error("no memory grows")
	}
}

// TestNoiseOfMemoryIsNoGrowth: memory of programs varies; chance variation is not reported.
func TestNoiseOfMemoryIsNoGrowth(t *testing.T) {
	told := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		level, vary := 500+5000*rng.Float64(), 0.04*rng.Float64()
		list := held(60+rng.IntN(240), func(float64) float64 { return level * (1 + vary*rng.NormFloat64()) })
		if _, ok := change.Growth("trainer", 7, "memory", list, list[len(list)-1].At); ok {
			told++
		}
	}
	if told > 1 {
		t.Errorf("%d of 200 are told to grow", told)
	}
}
