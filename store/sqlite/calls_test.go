package sqlite_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Calls whose nanosecond is taken, by an earlier row or in the same batch, move
// to the next free one with all that belongs to them.
func TestUsedKeysAreSkipped(t *testing.T) {
	const spread = 2000
	op := opOf(t, "cudaLaunchKernel")
	rng := rand.New(rand.NewPCG(3, 4))
	w, path := create(t, sqlite.Options{})
	sent := make(map[uint64]event.Call) // by duration, which is unique
	taken := make(map[uint64]bool)      // keys that must be taken
	for range 12 {
		var b store.Batch
		first := t0 + rng.Uint64N(spread)
		starts := make(map[uint64]int)
		for range 1 + rng.IntN(100) {
			c := event.Call{
				Start: first + rng.Uint64N(spread/10), Duration: uint64(len(sent)) + 1, Thread: engine, Op: op,
				GPU: event.NoGPU,
			}
			switch rng.IntN(8) {
			case 0:
				c.Ret = 700
			case 1:
				c.Ledger.NS[event.Poll] = c.Duration
			case 2:
				c.GPU, c.Depth, c.Args = 1, 2, [4]uint64{c.Duration, 5}
			}
			b.Calls = append(b.Calls, c)
			sent[c.Duration] = c
			starts[c.Start]++
		}
		// In whatever order they come, the same keys are taken.
		for start, n := range starts {
			for at := start; n > 0; at++ {
				if !taken[at] {
					taken[at] = true
					n--
				}
			}
		}
		must(t, w.Write(&b))
		must(t, w.Flush(t.Context()))
	}
	must(t, w.Close())
	got := allCalls(t, reader(t, path))
	if len(got) != len(sent) {
		t.Fatalf("%d calls are stored of %d", len(got), len(sent))
	}
	for _, c := range got {
		want := sent[c.Duration]
		if !taken[c.Start] || c.Start < want.Start {
			t.Fatalf("call %d, started at %d, has key %d", c.Duration, want.Start, c.Start)
		}
		delete(taken, c.Start)
		want.Start = c.Start
		if c != want {
			t.Fatalf("stored %+v\nwant   %+v", c, want)
		}
	}
}
