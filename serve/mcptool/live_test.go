package mcptool_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func openWriter(t testing.TB, path string) *sqlite.Writer {
	t.Helper()
	w, err := storetest.OpenWriter(path, sqlite.Options{Session: store.Session{
		Started: uint64(time.Now().UnixNano()),
		Node:    "test", Version: "test",
	}, Seed: 1})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// writeCalls records launches, and makes them visible to readers.
func writeCalls(t testing.TB, w *sqlite.Writer, from, n int) {
	t.Helper()
	who := event.Thread{PID: 100, TID: 100}
	launch, _ := event.ByName("cudaLaunchKernel")
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: who.PID, Name: "trainer", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true}},
		Threads:   []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}},
	}}
	at := uint64(time.Now().UnixNano())
	for i := range n {
		b.Calls = append(b.Calls,
			event.Call{Start: at + uint64(from+i)*1000, Duration: 500, Thread: who, Op: launch.Op, GPU: event.NoGPU})
	}
	must(t, w.Write(b))
	must(t, w.Flush(context.Background()))
}

func callsIn(t testing.TB, cs *mcp.ClientSession) int {
	t.Helper()
	var out struct{ Calls int }
	call(t, cs, "get_trace_stats", map[string]any{"since": "all"}, &out)
	return out.Calls
}
