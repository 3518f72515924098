package sqlite_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestStatisticsSeparateNestedCalls: an operation that is called by the program and by a
// runtime call has the sums of both, and those of the nested ones, across thinning.
func TestStatisticsSeparateNestedCalls(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{RawRate: 100})
	who := event.Thread{PID: 7, TID: 7}
	launch, _ := event.ByName("cuLaunchKernel")
	b := &store.Batch{}
	const n, t0 = 3000, 1_700_000_000_000_000_000
	var want store.Sums
	for i := range uint64(n) {
		c := event.Call{Start: t0 + i*100_000, Duration: 1000 + i, Thread: who, Op: launch.Op, GPU: event.NoGPU}
		if i%3 == 0 {
			c.Depth = 1
			c.Ledger.NS[event.Futex] = 10
			want.Add(&store.Sums{Calls: 1, NS: c.Duration, Ledger: c.Ledger})
		}
		b.Calls = append(b.Calls, c)
	}
	must(t, w.Write(b))
	must(t, w.Close())
	r := reader(t, path)
	list, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	if len(list) != 1 || !list[0].NestedKnown || list[0].Calls != n || list[0].Nested != want {
		t.Fatalf("%d calls, nested %+v, want %+v", list[0].Calls, list[0].Nested, want)
	}
	out := list[0].Outermost()
	if out.Calls != n-want.Calls || out.SumNS != list[0].SumNS-want.NS || !out.Ledger.IsZero() {
		t.Errorf("outermost: %+v", out)
	}
	var weights [2]uint64
	must(t, r.CallTimes(t.Context(), store.Window{}, func(c *event.CallTime) bool {
		weights[c.Depth] += uint64(max(c.Weight, 1))
		return true
	}))
	if weights != [2]uint64{n - want.Calls, want.Calls} {
		t.Errorf("the rows stand for %v calls by depth, of %d and %d", weights, n-want.Calls, want.Calls)
	}
	must(t, r.Close())
	sqlite.Downgrade(t, path, 17)
	list, err = store.List[store.OpStat](t.Context(), reader(t, path), store.Window{})
	must(t, err)
	if len(list) != 1 || list[0].NestedKnown || list[0].Nested.Calls != 0 {
		t.Errorf("of an older recording: %+v", list)
	}
}
