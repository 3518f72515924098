package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestKeptCallsAreThoseOfTheFile asks for windows in every relation to each other: a
// reader that was asked before answers what one that was not does.
func TestKeptCallsAreThoseOfTheFile(t *testing.T) {
	t.Run("few", func(t *testing.T) { keptAreThoseOfTheFile(t, 300, 400) })
	t.Run("many, which are kept in parts", func(t *testing.T) { keptAreThoseOfTheFile(t, 5000, 20) })
}

func keptAreThoseOfTheFile(t *testing.T, n uint64, rounds int) {
	w, path := create(t, sqlite.Options{})
	wait := opOf(t, "cudaStreamSynchronize")
	b := store.Batch{}
	for i := range n {
		c := event.Call{
			Start: 1000 + 10*i, Duration: 5, Thread: event.Thread{PID: 1, TID: 1}, Op: wait, GPU: event.NoGPU,
			Ret: 1,
		}
		b.Calls = append(b.Calls, c)
	}
	must(t, w.Write(&b))
	must(t, w.Close())
	old := reader(t, path)
	old.Remember()
	read := func(r *sqlite.Reader, w store.Window, limit int) (out []event.Call) {
		err := r.NotableCalls(t.Context(), w, func(c *event.Call) bool {
			out = append(out, *c)
			c.Start, c.Op = 0, 0 // it is ours
			return len(out) < limit
		})
		if err != nil {
			t.Error(err)
		}
		return out
	}
	all := read(reader(t, path), store.Window{}, 10_000)
	if len(all) != len(b.Calls) {
		t.Fatalf("%d of %d calls are notable", len(all), len(b.Calls))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for i := range rounds {
		w := store.Window{From: 900 + rng.Uint64N(11*n), To: 900 + rng.Uint64N(11*n)}
		switch rng.IntN(12) {
		case 0:
			w.To = 0
		case 1:
			w.From = 0
		case 2:
			w = store.Window{}
		}
		limit := len(all)
		if rng.IntN(5) == 0 {
			limit = 1 + rng.IntN(50)
		}
		var want []event.Call
		for i := range all {
			if w.Contains(all[i].Start) && len(want) < limit {
				want = append(want, all[i])
			}
		}
		if got := read(old, w, limit); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d: %+v, limit %d: %d calls, want %d", i, w, limit, len(got), len(want))
		}
		seen += len(want)
	}
	if seen < 10_000 {
		t.Errorf("only %d calls were looked at", seen)
	}
	// Halves at the same time, as a diagnosis reads them.
	var wg sync.WaitGroup
	var halves [2][]event.Call
	for i, w := range []store.Window{{To: 2500}, {From: 2500}} {
		wg.Go(func() { halves[i] = read(old, w, 10_000) })
	}
	wg.Wait()
	if fmt.Sprint(slices.Concat(halves[0], halves[1])) != fmt.Sprint(all) {
		t.Errorf("two halves of %d and %d calls make %d", len(halves[0]), len(halves[1]), len(all))
	}
}

// TestCallsThatAreAddedAreSeen has a reader that stays open while the recording grows, as
// that of the live diagnosis does.
func TestCallsThatAreAddedAreSeen(t *testing.T) {
	w, path := create(t, sqlite.Options{})
	defer w.Close()
	wait := opOf(t, "cudaStreamSynchronize")
	r := (*sqlite.Reader)(nil)
	for i := range uint64(5) {
		must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
			Start: t0 + 1000*i, Duration: 5,
			Thread: engine, Op: wait, GPU: event.NoGPU, Ret: 1,
		}}}}}))
		must(t, w.Flush(t.Context()))
		if r == nil {
			r = reader(t, path)
		}
		n := uint64(0)
		must(t, r.NotableCalls(t.Context(), store.Window{From: t0}, func(*event.Call) bool { n++; return true }))
		if n != i+1 {
			t.Errorf("%d calls after %d were written", n, i+1)
		}
	}
}
