package nodeapi_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestLedgerCountsTimeOnce records a launch each millisecond, in each of which the driver
// is called and a lock waited for, with pauses between them.
func TestLedgerCountsTimeOnce(t *testing.T) {
	const calls, ms = 100, 1_000_000
	op := func(name string) event.Op {
		i, ok := event.ByName(name)
		if !ok {
			t.Fatalf("no operation %s", name)
		}
		return i.Op
	}
	thread := event.Thread{PID: 7, TID: 8}
	var b store.Batch
	b.Threads = []store.ThreadInfo{{Thread: thread, Comm: "worker", Dispatch: true}}
	b.Processes = []store.Process{{PID: 7, Name: "trainer", Traced: true}}
	for i := range uint64(calls) {
		at := storetest.DefaultStart + i*ms
		waited := event.Ledger{NS: [event.NumClasses]uint64{event.Futex: 100_000}, Voluntary: 1}
		b.Calls = append(b.Calls,
			event.Call{Start: at, Duration: 400_000, Thread: thread, Op: op("cudaLaunchKernel"), Ledger: waited},
			event.Call{Start: at + 1000, Duration: 300_000, Thread: thread, Op: op("cuLaunchKernel"), Depth: 1, Ledger: waited})
		if i < calls-1 {
			b.Gaps = append(b.Gaps, event.Gap{
				Start: at + 400_000, Duration: 600_000, Thread: thread,
				Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.Sleep: 500_000}},
			})
		}
	}
	path := filepath.Join(t.TempDir(), "made.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{})
	must(t, err)
	must(t, w.Write(&b))
	must(t, w.Close())

	code, body := ask(t, api(t, path), "GET", nodeapi.Prefix+"ledger?since=all", "")
	var got wire.Ledgers
	if must(t, json.Unmarshal(body, &got)); code != http.StatusOK || len(got.Threads) != 1 {
		t.Fatalf("%d %s", code, body)
	}
	const wall = (calls-1)*ms + 400_000
	l := got.Threads[0]
	if l.PID != 7 || l.TID != 8 || l.Process != "trainer" || l.Thread != "worker" || l.WallNS != wall ||
		l.Calls != calls || l.CallsNS != calls*400_000 {
		t.Errorf("the thread: %+v", l)
	}
	if in := l.InCalls; in["futex"] != calls*100_000 || in["on_cpu"] != calls*300_000 || len(in) != 2 {
		t.Errorf("in calls: %v", in)
	}
	if between := l.BetweenNS; between["sleep"] != (calls-1)*500_000 || between["on_cpu"] != (calls-1)*100_000 ||
		len(between) != 2 {
		t.Errorf("between: %v", between)
	}
}

func TestRecordingIsDescribed(t *testing.T) {
	code, body := ask(t, api(t, ""), "GET", nodeapi.Prefix+"recording", "")
	var got wire.Recording
	if must(t, json.Unmarshal(body, &got)); code != http.StatusOK || got.Calls < 4000 ||
		got.FirstNS != storetest.DefaultStart || got.LastNS <= got.FirstNS || len(got.Sessions) != 1 || got.Node != "host" {
		t.Errorf("%d %s", code, body)
	}
}
