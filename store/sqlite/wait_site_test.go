package sqlite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// waits are those of two call sites, and of more than are distinguished, at a rate that is thinned:
// 2,990 from 0x10 and from odd places, ten from 0x20.
func waits() (b *store.Batch) {
	b = &store.Batch{}
	sync, _ := event.ByName("cudaStreamSynchronize")
	for i := range uint64(3000) {
		c := event.Call{Start: t0 + i*1_000_000, Duration: 1000, Thread: engine, Op: sync.Op, GPU: event.NoGPU}
		c.Args[event.SiteArg] = 0x10
		switch {
		case i%300 == 1:
			c.Args[event.SiteArg], c.Duration = 0x20, 20_000_000
		case i%10 == 7:
			c.Args[event.SiteArg] = 0x1000 + i
		}
		b.Calls = append(b.Calls, c)
	}
	return b
}

func TestWaitsAreCountedByCallSite(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{RawRate: 100})
	b := waits()
	type sums struct{ calls, ns, most uint64 }
	want := map[uint64]sums{}
	for _, c := range b.Calls {
		v := want[c.Args[event.SiteArg]]
		want[c.Args[event.SiteArg]] = sums{v.calls + 1, v.ns + c.Duration, max(v.most, c.Duration)}
	}
	must(t, w.Write(b))
	must(t, w.Close())
	r := reader(t, path)
	for _, step := range []uint64{0, 1, 60} {
		list, err := r.WaitSites(t.Context(), store.Window{}, step)
		must(t, err)
		got := map[uint64]sums{}
		var all uint64
		for _, o := range list {
			if o.Hist.Count() != o.Calls || o.Second%max(step, 1) != 0 || o.Thread != engine {
				t.Errorf("step %d: %+v", step, o)
			}
			v := got[o.Site]
			got[o.Site] = sums{v.calls + o.Calls, v.ns + o.SumNS, max(v.most, o.MaxNS)}
			all += o.Calls
		}
		if got[0x10] != want[0x10] || got[0x20] != want[0x20] {
			t.Errorf("step %d: %+v and %+v, want %+v and %+v", step, got[0x10], got[0x20], want[0x10], want[0x20])
		}
		if all != 3000 || len(got) != 33 || got[0].calls != 300-30 {
			t.Errorf("step %d: %d calls of %d places, %d of others", step, all, len(got), got[0].calls)
		}
	}
	for sql, want := range map[string][]any{
		"select sum(calls), sum(sum_ns), max(max_ns) from wait_sites where call_site = '0x20'": {
			int64(10),
			int64(200_000_000), int64(20_000_000),
		},
		"select count(*), sum(duration_ns) from cudaStreamSynchronize where call_site = '0x20'": {
			int64(10),
			int64(200_000_000),
		},
	} {
		if d := cmp.Diff([][]any{want}, query(t, path, sql)); d != "" {
			t.Errorf("%s (-want +got):\n%s", sql, d)
		}
	}
	must(t, r.Close())
	sqlite.Downgrade(t, path, 20)
	list, err := reader(t, path).WaitSites(t.Context(), store.Window{}, 1)
	must(t, err)
	if len(list) != 0 {
		t.Errorf("of an older recording: %+v", list)
	}
}
