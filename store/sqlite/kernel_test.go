package sqlite_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestLaunchesAreCountedByKernel has three kernels in known proportions: exact where each call is stored,
// and an estimate where calls are thinned.
func TestLaunchesAreCountedByKernel(t *testing.T) {
	t.Parallel()
	launch, inner := opOf(t, "cudaLaunchKernel"), opOf(t, "cuLaunchKernel")
	for _, rate := range []int{0, 300} {
		rng := rand.New(rand.NewPCG(7, uint64(rate)))
		w, path := create(t, sqlite.Options{RawRate: rate, Seed: 3})
		want := map[uint64]uint64{}
		var calls []event.Call
		for i := range uint64(20_000) {
			fn := uint64(0x1000)
			switch rng.IntN(10) {
			case 0:
				fn = 0x2000
			case 1, 2, 3:
				fn = 0x3000
			}
			want[fn]++
			at := t0 + i*500_000
			c := event.Call{
				Start: at, Duration: 5000, Thread: event.Thread{PID: 7, TID: 7}, Op: launch, Args: [4]uint64{fn}, GPU: event.NoGPU,
			}
			in := c
			in.Start, in.Duration, in.Op, in.Depth, in.Args = at+1000, 3000, inner, 1, [4]uint64{0x9000}
			calls = append(calls, in, c)
		}
		for n := 0; n < len(calls); n += 500 {
			must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: calls[n : n+500]}}}))
		}
		must(t, w.Close())
		r, err := sqlite.Open(path)
		must(t, err)
		list, err := store.List[store.KernelLaunches](t.Context(), r, store.Window{})
		must(t, err)
		if len(list) != len(want) {
			t.Fatalf("%d kernels, want %d: %+v", len(list), len(want), list)
		}
		for _, l := range list {
			n := want[l.Func]
			bound := 0.0
			if rate > 0 {
				bound = 4 * math.Sqrt(1/float64(l.Stored)) * float64(n)
			}
			if l.TID != 7 || l.Stored == 0 || math.Abs(float64(l.Calls)-float64(n)) > bound ||
				rate == 0 != (l.Stored == l.Calls) {
				t.Errorf("rate %d: kernel %#x was launched %d times (%d stored), want %d within %.0f", rate, l.Func, l.Calls,
					l.Stored, n, bound)
			}
		}
		half, err := store.List[store.KernelLaunches](t.Context(), r, store.Window{From: t0, To: t0 + 5e9})
		must(t, err)
		var sum uint64
		for _, l := range half {
			sum += l.Calls
		}
		if sum < 9000 || sum > 11_000 {
			t.Errorf("rate %d: half of the time has %d launches of 20,000", rate, sum)
		}
		must(t, r.Close())
	}
}
