package sqlite_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func TestGraphAndMemoryViews(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	engine, at := event.Thread{PID: 100, TID: 100}, t0
	b := &store.Batch{}
	call := func(name string, ret int32, args ...uint64) {
		i, ok := event.ByName(name)
		if !ok {
			t.Fatal(name)
		}
		at += 1000
		c := event.Call{Start: at, Duration: 100, Thread: engine, Op: i.Op, Ret: ret, GPU: event.NoGPU, Weight: 1}
		copy(c.Args[:], args)
		b.Calls = append(b.Calls, c)
	}
	call("cudaStreamBeginCapture", 0, 5)
	call("cudaMalloc", 900, 4096)
	call("cudaStreamEndCapture", 901, 5)
	call("cudaStreamBeginCapture", 0, 5)
	call("cudaStreamEndCapture", 0, 5, 77)
	for range 2 { // the handle is used again
		call("cudaGraphInstantiate", 0, 99, 77)
		call("cudaGraphUpload", 0, 99, 5)
		call("cudaGraphLaunch", 0, 99, 5)
		call("cudaGraphLaunch", 700, 99, 5)
		call("cudaGraphExecUpdate", 0, 99, 78)
		call("cudaGraphExecDestroy", 0, 99)
	}
	call("cudaGraphInstantiate", 2, 98, 77) // failed: no graph
	call("cuMemHostAlloc", 2, 512)
	managed, _ := event.ByName("cudaMallocManaged")
	pool, _ := event.ByName("cudaMallocFromPoolAsync")
	b.Memory = []event.Memory{
		{
			At: t0, PID: 100, LiveBytes: 30, LiveCount: 3, PeakBytes: 50, Allocs: 4, Failed: 1,
			Bytes: 80, AllocNS: 500,
		},
		{At: t0 + 1, PID: 100, Space: event.PinnedMemory, LiveBytes: 7, PeakBytes: 7},
		{At: t0 + 4000, PID: 100, LiveBytes: 100, LiveCount: 8, PeakBytes: 100},
	}
	b.MemorySites = []event.MemorySite{
		{At: t0, PID: 100, Op: managed.Op, LiveBytes: 40, LiveCount: 4},
		{At: t0 + 5, PID: 100, Op: managed.Op, LiveBytes: 30, LiveCount: 3},
		{At: t0 + 1, PID: 100, Op: pool.Op, LiveBytes: 10, LiveCount: 1, Oldest: t0 - 9},
		{At: t0 + 4000, PID: 100, Op: pool.Op, LiveBytes: 70, LiveCount: 5, Oldest: t0 - 9},
	}
	must(t, w.Write(b))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select count(*) || '/' || min(launches) || '/' || max(launches) || '/' || max(updates) || '/' || max(uploads) || " +
			"'/' || max(failed) || '/' || sum(destroyed > last_launch) from graph_execs": "2/2.0/2.0/1.0/1.0/1.0/2",
		"select group_concat(ret_code || ':' || coalesce(graph, '-') || ':' || coalesce(failed_op, '-') || ':' || " +
			"coalesce(failed_code, '-') || ':' || duration_ns) from graph_captures": "901:-:cudaMalloc:900:2100,0:77:-:-:1100",
		"select kind || op || live_bytes || '/' || peak_bytes || '/' || process_peak_bytes || '/' || process_failed from " +
			"allocations where kind = 'managed'": "managedcudaMallocManaged30/40/100/1",
		"select kind || op || live_bytes || '/' || peak_bytes from allocations where kind = 'pool'":                 "poolcudaMallocFromPoolAsync70/70",
		"select group_concat(op || bytes || '/' || ret_code || '/' || process_live_bytes) from failed_allocations":  "cudaMalloc4096/900/30,cuMemHostAlloc512/2/7",
		"select group_concat(op || grown_bytes || '/' || grown_count || '/' || oldest_age_ns) from leak_candidates": "cudaMallocFromPoolAsync60/4/4009",
		"select live_bytes || '/' || mean_live_bytes || '/' || mean_bytes || '/' || alloc_avg_ns || '/' || " +
			"below_peak_bytes from fragmentation": "30/10/20/100/20",
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

// What the runtime asks the driver to do counts once; what a program asks the driver to
// do itself counts, too, and so does what another library does inside one of its calls.
func TestGraphsOfTheDriverCountOnce(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	b := &store.Batch{}
	call := func(tid uint32, start uint64, name string, depth uint8, dur uint64, args ...uint64) {
		i, ok := event.ByName(name)
		if !ok {
			t.Fatal(name)
		}
		c := event.Call{
			Start: t0 + start, Duration: dur, Thread: event.Thread{PID: 100, TID: tid}, Op: i.Op,
			GPU: event.NoGPU, Weight: 1, Depth: depth,
		}
		copy(c.Args[:], args)
		b.Calls = append(b.Calls, c)
	}
	call(100, 10, "cudaStreamBeginCapture", 0, 10, 5, 2)
	call(100, 12, "cuStreamBeginCapture", 1, 5, 5, 2)
	call(100, 30, "cudaLaunchKernel", 0, 10, 1, 5)
	call(100, 50, "cudaStreamIsCapturing", 0, 5, 5, 2)
	call(100, 60, "cudaGraphLaunch", 0, 9, 70, 5) // becomes a part of the capture
	call(100, 70, "cudaStreamEndCapture", 0, 10, 5, 77)
	call(100, 72, "cuStreamEndCapture", 1, 5, 5, 77)
	call(100, 100, "cudaGraphInstantiate", 0, 50, 99, 77)
	call(100, 110, "cuGraphInstantiate", 1, 30, 99, 77)
	for i := range uint64(3) {
		call(100, 200+100*i, "cudaGraphLaunch", 0, 50, 99, 5)
		call(100, 210+100*i, "cuGraphLaunch", 1, 30, 99, 5)
	}
	call(101, 1000, "cuGraphInstantiate", 0, 30, 88, 78)
	call(101, 1100, "cuGraphLaunch", 0, 30, 88, 5)
	call(101, 1200, "ncclAllReduce", 0, 90, 1, 2)
	call(101, 1210, "cuGraphLaunch", 1, 30, 88, 5)
	call(101, 1400, "cuGraphExecDestroy", 0, 30, 88)
	must(t, w.Write(b))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select group_concat(graph_exec || ':' || launches || ':' || coalesce(destroyed > 0, 0)) from (select * from " +
			"graph_execs order by graph_exec)": "88:2.0:1,99:3.0:0",
		"select group_concat(stream || ':' || graph || ':' || capture_mode || ':' || capture_status || ':' || launches) " +
			"from graph_captures": "5:77:relaxed:invalidated:1.0",
		"select group_concat(op || ':' || graph_exec || ':' || capture_status) from (select * from graph_launches order " +
			"by timestamp)": "cudaGraphLaunch:70:active,cudaGraphLaunch:99:none,cudaGraphLaunch:99:none,cudaGraphLaunch:99:none,cuGraphLaunch:88:none,cuGraphLaunch:88:none",
		"select capture_mode || ':' || stream from cudaStreamBeginCapture": "2:5",
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

func TestGraphLifeCycleCallsAreNotThinned(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{RawRate: 100})
	b := &store.Batch{}
	for i := range uint64(20_000) {
		name := "cudaLaunchKernel"
		if i%40 == 0 {
			name = "cudaGraphInstantiate"
		}
		info, _ := event.ByName(name)
		b.Calls = append(b.Calls, event.Call{
			Start: t0 + i*50_000, Duration: 1000, Thread: event.Thread{PID: 100, TID: 100}, Op: info.Op, GPU: event.NoGPU,
			Weight: 1,
			Args:   [event.NumArgs]uint64{i, 7},
		})
	}
	must(t, w.Write(b))
	must(t, w.Close())
	rows, err := sqlite.Query(t.Context(), path,
		"select count(*), (select sum(stored) from cudaLaunchKernel) < 1000 from graph_execs", store.Limits{})
	must(t, err)
	defer rows.Close()
	if !rows.Next() || rows.Values()[0] != int64(500) || rows.Values()[1] != int64(1) {
		t.Errorf("graphs, and whether launches are thinned: %v, want 500 and 1", rows.Values())
	}
}
