package sqlite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func memoryBatch(t testing.TB) *store.Batch {
	b := fullBatch(t)
	b.Memory = []event.Memory{
		{
			At: t0 + 50, PID: 100, LiveBytes: 1 << 40, LiveCount: 3, PeakBytes: 1 << 41, Allocs: 5, Frees: 2, Failed: 1,
			Bytes: 1 << 42, AllocNS: 99, FreeNS: 98, UnknownFrees: 4, Untracked: 6,
		},
		{At: t0 + 51, PID: 100, Space: event.PinnedMemory, LiveBytes: 7, LiveCount: 1, PeakBytes: 7},
		{At: t0 + 5_000_000_000, PID: 100},
	}
	b.MemorySites = []event.MemorySite{
		{At: t0 + 50, PID: 100, Op: opOf(t, "cudaMalloc"), Stack: 77, LiveBytes: 1 << 40, LiveCount: 2, Oldest: t0 + 3},
		{
			At: t0 + 51, PID: 100, Space: event.PinnedMemory, Op: opOf(t, "cudaHostAlloc"), LiveBytes: 7, LiveCount: 1,
			Oldest: t0 + 4,
		},
	}
	return b
}

func TestMemoryIsReadBack(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	b := memoryBatch(t)
	must(t, w.Write(b))
	must(t, w.Close())
	r, ctx := reader(t, path), t.Context()
	got, err := store.List[event.Memory](ctx, r, store.Window{})
	must(t, err)
	if d := cmp.Diff(b.Memory, got); d != "" {
		t.Errorf("memory (-want +got):\n%s", d)
	}
	sites, err := store.List[event.MemorySite](ctx, r, store.Window{})
	must(t, err)
	if d := cmp.Diff(b.MemorySites, sites); d != "" {
		t.Errorf("sites (-want +got):\n%s", d)
	}
	got, err = store.List[event.Memory](ctx, r, store.Window{From: t0 + 51, To: t0 + 52})
	if err != nil || len(got) != 1 || got[0].Space != event.PinnedMemory {
		t.Errorf("in a window: %+v, %v", got, err)
	}
}

func TestMemoryViews(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(memoryBatch(t)))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select comm || space || live_bytes || '/' || frees from memory where frees > 0":                   "enginedevice1099511627776/2",
		"select comm || space || op || stack_hash || '/' || live_count from memory_sites where stack_hash": "enginedevicecudaMalloc77/2",
		"select sum(untracked) || '/' || count(*) || '/' || max(pid) from memory":                          "6/3/100",
	} {
		rows, err := sqlite.Query(t.Context(), path, query, store.Limits{})
		must(t, err)
		if !rows.Next() {
			t.Errorf("%s: no row, %v", query, rows.Err())
		} else if got := rows.Values()[0]; got != want {
			t.Errorf("%s = %v, want %s", query, got, want)
		}
		must(t, rows.Close())
	}
}
