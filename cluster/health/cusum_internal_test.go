package health

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// quiet feeds a test n buckets of half a second, with noise of 2 %.
func quiet(c *cusum, r *rand.Rand, n int) time.Duration {
	t := time.Duration(0)
	for range n {
		c.add(point{y: 0.02 * r.NormFloat64(), start: t, end: t + time.Second/2, n: 8})
		t += time.Second / 2
	}
	return t
}

// feed feeds a test buckets of excess e, and returns after how many it was raised, 0 for never.
func feed(c *cusum, from time.Duration, e float64, n int) int {
	for i := range n {
		if c.add(point{y: e + c.offset, start: from, end: from + time.Second/2, n: 8}) == raised {
			return i + 1
		}
		from += time.Second / 2
	}
	return 0
}

func warm(seed uint64) (*cusum, time.Duration) {
	c := &cusum{}
	return c, quiet(c, rand.New(rand.NewPCG(seed, 1)), 100)
}

func TestTenPercentIsFound(t *testing.T) {
	c, now := warm(1)
	if n := feed(c, now, math.Log(1.10), 40); n == 0 || n > 20 {
		t.Errorf("found after %d buckets", n)
	}
	if c.since < now-time.Second || c.since > now+2*time.Second {
		t.Errorf("it began at %v; reported: %v", now, c.since)
	}
}

func TestThreePercentIsNot(t *testing.T) {
	c, now := warm(2)
	if n := feed(c, now, 0.03, 400); n != 0 {
		t.Errorf("found after %d buckets", n)
	}
}

// A burst of 3 s, however strong, cannot raise g to h: evidence is credited by the wall clock.
func TestShortBurstIsNotFound(t *testing.T) {
	for _, factor := range []float64{1.2, 2, 10} {
		c, now := warm(3)
		if n := feed(c, now, math.Log(factor), 6); n != 0 {
			t.Errorf("x%g: found after %d buckets", factor, n)
		}
		if n := feed(c, now, math.Log(factor), 12); n == 0 {
			t.Errorf("x%g: a burst of 9 s is not found", factor)
		}
	}
}

func TestOneBucketIsNeverEnough(t *testing.T) {
	c, now := warm(4)
	c.add(point{y: 3, start: now, end: now + time.Minute, n: 8})
	if c.alarmed || c.g > stallCredit {
		t.Errorf("a stall of a minute counts %.1f of %.1f", c.g, c.h)
	}
}

func TestNormalBucketResets(t *testing.T) {
	c, now := warm(5)
	feed(c, now, math.Log(1.2), 6)
	if c.g < c.h/4 {
		t.Fatalf("g is %.1f of %.1f", c.g, c.h)
	}
	feed(c, now, -0.2, 1)
	if c.g != 0 {
		t.Errorf("g is %.1f after a decisive normal bucket", c.g)
	}
}

func TestNothingIsLearnedOfSuspects(t *testing.T) {
	c, now := warm(6)
	feed(c, now, math.Log(1.3), 20)
	dev, offset := c.dev, c.offset
	if !c.suspect() || feed(c, now, math.Log(1.3), 400) != 0 {
		t.Fatal("not a straggler, or raised twice")
	}
	if c.dev != dev || c.offset != offset {
		t.Errorf("noise %.4f was %.4f, offset %.4f was %.4f", c.dev, dev, c.offset, offset)
	}
}

func TestResolvedAfterFiveQuietSeconds(t *testing.T) {
	c, now := warm(7)
	feed(c, now, math.Log(1.3), 20)
	n := 0
	for n = 1; n < 60; n++ {
		if c.add(point{y: c.offset - 0.02, start: now, end: now + time.Second/2, n: 8}) == cleared {
			break
		}
		if c.g > 0 {
			n = 0
		}
		now += time.Second / 2
	}
	if n != 10 {
		t.Errorf("resolved after %d buckets of half a second", n)
	}
}

func TestSlowNowAndThenIsFound(t *testing.T) {
	c, now := warm(8)
	for i := range 300 { // +40 % for 4 s of every 10 s
		e := 0.0
		if i%20 < 8 {
			e = math.Log(1.4)
		}
		feed(c, now+time.Duration(i)*time.Second/2, e, 1)
		if c.alarmed {
			return
		}
	}
	t.Error("not found in 150 s")
}

func TestOffsetIsBounded(t *testing.T) {
	for _, tc := range []struct {
		name  string
		whole bool
		y     float64
		want  func(offset float64) bool
	}{
		{"a habit is learned", false, 0.01, func(o float64) bool { return o > 0.004 && o < 0.02 }},
		{"a fault is not", false, 0.10, func(o float64) bool { return o <= offsetMost }},
		{"ranks of different kinds differ", true, 0.40, func(o float64) bool { return math.Abs(o-0.4) < 0.02 }},
	} {
		c := &cusum{whole: tc.whole}
		r := rand.New(rand.NewPCG(9, 1))
		for i := range 30 {
			at := time.Duration(i) * time.Second / 2
			c.add(point{y: tc.y + 0.01*r.NormFloat64(), start: at, end: at + time.Second/2, n: 8})
		}
		if !tc.want(c.offset) {
			t.Errorf("%s: offset %.4f of %.2f", tc.name, c.offset, tc.y)
		}
	}
}

func TestThresholdGrowsWithTheCohort(t *testing.T) {
	if threshold(3) != 16 || threshold(8) != 16 || math.Abs(threshold(1000)-20.83) > 0.01 {
		t.Errorf("h: %g, %g, %g", threshold(3), threshold(8), threshold(1000))
	}
}

// The median of the others from three order statistics is the one from sorting.
func TestMedianOfTheOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for range 2000 {
		x := make([]float32, 2+r.IntN(12))
		for i := range x {
			x[i] = float32(r.IntN(8)) // with ties
		}
		s := middle(slices.Clone(x))
		for i, v := range x {
			rest := slices.Delete(slices.Clone(x), i, i+1)
			slices.Sort(rest)
			k := len(rest) / 2
			want := float64(rest[k])
			if len(rest)%2 == 0 {
				want = float64(rest[k-1]+rest[k]) / 2
			}
			if got := s.others(v); got != want {
				t.Fatalf("%v without %v: %v, not %v", x, v, got, want)
			}
		}
	}
}

func TestBucketValue(t *testing.T) {
	for _, tc := range []struct {
		samples []float32
		want    float64
	}{
		{[]float32{2}, 2},
		{[]float32{0, float32(math.Log(3))}, math.Log(2)},
		{[]float32{1, 1, 5}, 1},
		{[]float32{1, 2, 3, 4, 5, 6, 7, 800}, 4.5},
		{[]float32{9, 1, 2, 3, 4, 5, 6, 7, 800}, 5},
	} {
		if got := typical(slices.Clone(tc.samples)); math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%v: %g, not %g", tc.samples, got, tc.want)
		}
	}
}

func TestWorkTakesOutUnequalAmounts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	var w work
	rest, whole := 0.0, 0.0
	for i := range 1000 {
		amount := 0.3 * r.NormFloat64()
		own := 0.7*amount + 0.02*r.NormFloat64()
		even := w.even(own, math.Exp(amount), 1)
		if i >= 200 {
			rest += even * even
			whole += own * own
		}
	}
	if rest > whole/20 {
		t.Errorf("%.3f of the variance remains", rest/whole)
	}
	if got := w.even(1.5, 0, 1); got != 1.5 {
		t.Errorf("without an amount 1.5 became %g", got)
	}
}

// Neither stalls, even among the first steps, nor changes of all steps change the line.
func TestWorkSurvivesStallsAndPhases(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	var w work
	worst := 0.0
	for i := range 600 {
		amount, phase := 0.2*r.NormFloat64(), 0.5*float64(i/100%2)
		own := 0.9*amount + phase
		if i%7 == 3 {
			own = 3 // 20 times as long
		}
		even := w.even(own, math.Exp(amount), 1)
		if i >= workWarm && i%7 != 3 {
			worst = max(worst, math.Abs(even-phase))
		}
	}
	if worst > 0.08 {
		t.Errorf("off by up to %.3f", worst)
	}
}

func TestModes(t *testing.T) {
	for _, tc := range []struct {
		reached, had bool
		age          time.Duration
		own          int
		want         Mode
	}{
		{true, true, 0, 0, ModeFleet},
		{false, true, 20 * time.Second, 99, ModeFleet},
		{true, true, 21 * time.Second, 99, ModeFleetCached},
		{false, true, 21 * time.Second, 99, ModeLocalCached},
		{true, true, 301 * time.Second, 99, ModeLocalBaseline},
		{false, false, 0, 30, ModeLocalBaseline},
		{false, false, 0, 29, ModeNone},
		{true, true, 30 * time.Second, 29, ModeNone},
	} {
		if got := currentMode(tc.reached, tc.had, tc.age, tc.own); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestWidths(t *testing.T) {
	for _, tc := range []struct {
		interval float64
		free     bool
		want     uint32
	}{
		{0.2, false, 3},
		{0.05, false, 10},
		{5, false, 1},
		{0.0001, false, MaxWidth},
		{0.1, true, 1},
		{0.5, true, 2},
		{5, true, 16},
	} {
		if got := width(tc.interval, tc.free); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}
