package stats_test

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event/stats"
)

const bound = 0.011

func checkError(t *testing.T, want, got uint64) {
	t.Helper()
	if want <= 1 {
		if got > 1 {
			t.Errorf("quantile of %d = %d", want, got)
		}
		return
	}
	// The answer is a whole number, which may cost another half.
	diff := math.Abs(float64(got) - float64(want))
	if diff > bound*float64(want)+0.5 {
		t.Errorf("quantile of %d = %d, off by %.2f %%", want, got, 100*diff/float64(want))
	}
}

func TestQuantileErrorIsBoundedOverTheFullRange(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(v uint64) {
		t.Helper()
		var h stats.Histogram
		h.Add(v)
		for _, q := range []float64{0, 0.5, 1} {
			checkError(t, v, h.Quantile(q))
		}
	}
	for e := range 64 {
		p := uint64(1) << e
		for _, v := range []uint64{p - 1, p, p + 1} {
			one(v)
		}
		for range 200 {
			one(p | rng.Uint64N(p))
		}
	}
	one(math.MaxUint64)
}

func TestQuantilesOfHeavyTail(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	var h stats.Histogram
	all := make([]uint64, 100_000)
	for i := range all {
		all[i] = uint64(math.Exp(rng.NormFloat64()*2+9)) + 2
		h.Add(all[i])
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1} {
		checkError(t, all[int(math.Ceil(q*float64(len(all))))-1], h.Quantile(q))
	}
}

func TestEmptyHistogram(t *testing.T) {
	t.Parallel()
	var h stats.Histogram
	if h.Quantile(0.5) != 0 || h.Count() != 0 {
		t.Error("an empty histogram is not empty")
	}
	h.Merge(nil)
	h.Merge(&stats.Histogram{})
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Add(7)
	if err := h.UnmarshalBinary(b); err != nil || h.Count() != 0 {
		t.Errorf("round trip of nothing: %v, %d values", err, h.Count())
	}
}

func TestResetAllowsAnyRangeAfterwards(t *testing.T) {
	t.Parallel()
	var h stats.Histogram
	h.Add(1 << 40)
	h.Reset()
	h.Add(3)
	if h.Count() != 1 {
		t.Errorf("count %d after reset and one value", h.Count())
	}
	checkError(t, 3, h.Quantile(1))
	h.Add(1 << 50)
	checkError(t, 1<<50, h.Quantile(1))
}

func random(rng *rand.Rand, n int) (*stats.Histogram, []uint64) {
	h := new(stats.Histogram)
	var all []uint64
	for range n {
		v := rng.Uint64() >> rng.IntN(64)
		h.Add(v)
		all = append(all, v)
	}
	return h, all
}

func TestMergeIsConcatenation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		a, va := random(rng, rng.IntN(50))
		b, vb := random(rng, rng.IntN(50))
		a.Merge(b)
		var want stats.Histogram
		for _, v := range append(va, vb...) {
			want.Add(v)
		}
		equal(t, a, &want)
	}
}

func TestAddNIsRepeatedAdd(t *testing.T) {
	t.Parallel()
	var a, b stats.Histogram
	for v := uint64(1); v < 1<<30; v *= 3 {
		a.AddN(v, 5)
		for range 5 {
			b.Add(v)
		}
	}
	a.AddN(9, 0)
	equal(t, &a, &b)
}

// equal compares what can be observed: layouts may differ in empty buckets.
func equal(t *testing.T, a, b *stats.Histogram) {
	t.Helper()
	if a.Count() != b.Count() {
		t.Fatalf("counts differ: %d, %d", a.Count(), b.Count())
	}
	for i := range 101 {
		q := float64(i) / 100
		if x, y := a.Quantile(q), b.Quantile(q); x != y {
			t.Fatalf("quantile %g differs: %d, %d", q, x, y)
		}
	}
}

func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		a, _ := random(rng, rng.IntN(300))
		b, err := a.AppendBinary([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		var c stats.Histogram
		if err := c.UnmarshalBinary(b[1:]); err != nil {
			t.Fatal(err)
		}
		equal(t, a, &c)
	}
}

func TestBinaryIsSmall(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	var h stats.Histogram
	for range 20_000 {
		h.Add(uint64(math.Exp(rng.NormFloat64()*0.3 + 9)))
	}
	b, _ := h.AppendBinary(nil)
	if len(b) > 300 {
		t.Errorf("%d bytes for one second of one operation", len(b))
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Add([]byte{1, 10, 5, 0, 200, 1, 7})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h stats.Histogram
		if h.UnmarshalBinary(b) != nil {
			return
		}
		h.Quantile(0.99)
		h.Add(1)
		h.Add(math.MaxUint64)
		out, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var again stats.Histogram
		if err := again.UnmarshalBinary(out); err != nil {
			t.Fatalf("own output refused: %v", err)
		}
		out2, _ := again.AppendBinary(nil)
		if !bytes.Equal(out, out2) {
			t.Fatal(cmp.Diff(out, out2))
		}
	})
}

func TestExactPercentiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		values []uint64
		q      float64
		want   uint64
	}{
		{nil, 0.5, 0},
		{[]uint64{7}, 0.5, 7},
		{[]uint64{3, 1, 2}, 0.5, 2},
		{[]uint64{4, 1, 3, 2}, 0.5, 2},
		{[]uint64{4, 1, 3, 2}, 1, 4},
		{[]uint64{4, 1, 3, 2}, 0, 1},
	} {
		in := slices.Clone(tc.values)
		if got := stats.Percentile(in, tc.q); got != tc.want {
			t.Errorf("Percentile(%v, %g) = %d, want %d", tc.values, tc.q, got, tc.want)
		}
		if !slices.Equal(in, tc.values) {
			t.Errorf("Percentile changed its argument to %v", in)
		}
	}
	if got := stats.Median([]uint64{9, 1, 5}); got != 5 {
		t.Errorf("Median = %d", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	v := make([]uint64, 4096)
	for i := range v {
		v[i] = uint64(math.Exp(rng.NormFloat64() + 9))
	}
	var h stats.Histogram
	i := 0
	for b.Loop() {
		h.Add(v[i&4095])
		i++
	}
}

func BenchmarkQuantile(b *testing.B) {
	h, _ := random(rand.New(rand.NewPCG(1, 1)), 1000)
	for b.Loop() {
		h.Quantile(0.5)
	}
}

func TestEachBucketIsVisitedOnce(t *testing.T) {
	var h stats.Histogram
	want := map[int]uint32{}
	for _, v := range []uint64{0, 1, 2, 1000, 1000, 1001, 1 << 40, 1<<64 - 1} {
		h.AddN(v, 3)
		want[stats.Bucket(v)] += 3
	}
	got, last := map[int]uint32{}, -1
	h.Each(func(i int, n uint32) {
		if i <= last {
			t.Errorf("bucket %d is behind %d", i, last)
		}
		got[i], last = n, i
	})
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestValuesAboveCoversAreAtMostTheRest: for values of any kind, close to each other or not.
func TestValuesAboveCoversAreAtMostTheRest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var h stats.Histogram
		all := make([]uint64, 1+rng.IntN(2000))
		from, spread := uint64(1)<<rng.IntN(52), uint64(1)<<rng.IntN(52) // up to 52 days of ns
		for i := range all {
			all[i] = from + rng.Uint64N(spread)
			h.Add(all[i])
		}
		q := rng.Float64()
		got, above := h.Covers(q), 0
		for _, v := range all {
			if v > got {
				above++
			}
		}
		if float64(above) > (1-q)*float64(len(all)) {
			t.Errorf("%d of %d values are above %d, which covers %.3f of them", above, len(all), got, q)
		}
		slices.Sort(all)
		if top := float64(all[len(all)-1]); float64(got) > top*math.Exp2(1./32)+1 {
			t.Errorf("%d covers %.3f of values of at most %.0f", got, q, top)
		}
	}
	if got := new(stats.Histogram).Covers(0.5); got != 0 {
		t.Errorf("an empty histogram covers up to %d", got)
	}
}
