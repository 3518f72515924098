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
	managed, _ := event.ByName("cudaMallocManaged")
	b.Memory = []event.Memory{{At: t0, PID: 100, LiveBytes: 30, LiveCount: 3, PeakBytes: 50, Allocs: 4, Failed: 1, Bytes: 80, AllocNS: 500}}
	b.MemorySites = []event.MemorySite{
		{At: t0, PID: 100, Op: managed.Op, LiveBytes: 40, LiveCount: 4},
		{At: t0 + 5, PID: 100, Op: managed.Op, LiveBytes: 30, LiveCount: 3},
	}
	must(t, w.Write(b))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select count(*) || '/' || min(launches) || '/' || max(launches) || '/' || max(updates) || '/' || max(uploads) || '/' || max(failed) || '/' || sum(destroyed > last_launch) from graph_execs": "2/2.0/2.0/1.0/1.0/1.0/2",
		"select group_concat(ret_code || ':' || coalesce(graph, '-') || ':' || coalesce(failed_op, '-') || ':' || coalesce(failed_code, '-') || ':' || duration_ns) from graph_captures":              "901:-:cudaMalloc:900:2100,0:77:-:-:1100",
		"select kind || op || live_bytes || '/' || peak_bytes || '/' || process_peak_bytes || '/' || process_failed from allocations":                                                                 "managedcudaMallocManaged30/40/50/1",
		"select live_bytes || '/' || mean_live_bytes || '/' || mean_bytes || '/' || alloc_avg_ns || '/' || below_peak_bytes from fragmentation":                                                       "30/10/20/100/20",
	} {
		rows, err := sqlite.Query(t.Context(), path, query, sqlite.Limits{})
		must(t, err)
		if !rows.Next() {
			t.Errorf("%s: no row, %v", query, rows.Err())
		} else if got := rows.Values()[0]; got != want {
			t.Errorf("%s = %v, want %s", query, got, want)
		}
		must(t, rows.Close())
	}
}
