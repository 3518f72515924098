package diagnose_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/store"
)

// TestWorkThatVariesIsTold: waits of any length, all equally likely, are for different amounts of work. Slow waits
// that come together, or rarely, or are far longer, are not.
func TestWorkThatVariesIsTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, usual = 2000, 4_000_000 // waits, ns
	uniform := func(from, to float64) uint64 { return uint64(usual * (from + (to-from)*rng.Float64())) }
	sync, _ := event.ByName("cudaStreamSynchronize")
	for name, tc := range map[string]struct {
		took   func(i int) uint64
		varies bool
	}{
		"any length":           {func(int) uint64 { return uniform(0.5, 1.5) }, true},
		"two lengths":          {func(int) uint64 { return []uint64{uniform(0.9, 1.1), uniform(1.8, 2.2)}[max(0, rng.IntN(3)-1)] }, true},
		"one length":           {func(int) uint64 { return uniform(0.95, 1.05) }, false},
		"slow for some time":   {func(i int) uint64 { return []uint64{uniform(0.9, 1.1), uniform(1.8, 2.2)}[i/20%3/2] }, false},
		"seldom slow":          {func(i int) uint64 { return []uint64{uniform(0.9, 1.1), uniform(1.8, 2.2)}[i%20/19] }, false},
		"many times as slow":   {func(int) uint64 { return []uint64{uniform(0.9, 1.1), uniform(6, 9)}[max(0, rng.IntN(3)-1)] }, false},
		"slower from the half": {func(i int) uint64 { return []uint64{uniform(0.9, 1.1), uniform(1.5, 1.8)}[i*20/n/11] }, false},
	} {
		o := &store.OpStat{Hist: &stats.Histogram{}}
		o.Op = sync.Op
		var episodes []ledger.Episode
		at := uint64(1_700_000_000_000_000_000)
		o.First = at
		for i := range n {
			took := tc.took(i)
			o.Hist.Add(took)
			o.Calls++
			o.SumNS += took
			episodes = append(episodes, ledger.Episode{Call: &event.Call{Op: sync.Op, Start: at, Duration: took}})
			at += took + uint64(1e6*(0.8+0.4*rng.Float64()))
		}
		o.Last = at
		v := diagnose.Variable(o, episodes)
		if got := v > 0; got != tc.varies {
			t.Errorf("%s: it varies: %v", name, got)
		}
		if q := o.Hist.Quantile(0.9); v > 0 && v < q {
			t.Errorf("%s: up to %d ns are usual, a tenth is above %d", name, v, q)
		}
	}
}
