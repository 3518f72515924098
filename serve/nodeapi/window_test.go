package nodeapi_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// recordedOnce writes a recording of one batch that has ended.
func recordedOnce(t *testing.T, b *store.Batch) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{})
	must(t, err)
	must(t, w.Write(b))
	must(t, w.Close())
	return path
}

// TestEachAnswerCoversTheWholeRecording: a recording that has just ended is taken as a
// whole by default; otherwise a note says what is left out. All answers have the same losses.
func TestEachAnswerCoversTheWholeRecording(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	who := event.Thread{PID: 7, TID: 7}
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 7, Name: "trainer", Traced: true}},
		Threads:   []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}},
		Losses:    []event.Loss{{Kind: event.LostHealed, Count: 24}},
	}}
	first := uint64(time.Now().Add(-14 * time.Minute).UnixNano())
	for i := range uint64(6000) {
		b.Calls = append(b.Calls, event.Call{
			Start: first + i*100_000_000, Duration: 5000, Thread: who, Op: launch.Op, GPU: event.NoGPU,
		})
	}
	h := api(t, recordedOnce(t, b))
	for _, path := range []string{
		"overview", "ops", "chains", "timeline", "lanes", "heatmap", "stacks", "waits", "call_sites",
		"snapshots", "ledger",
	} {
		for query, note := range map[string]string{"": "this shows all of it", "?since=1m": "calls more before it"} {
			code, body := ask(t, h, "GET", nodeapi.Prefix+path+query, "")
			var got wire.About
			must(t, json.Unmarshal(body, &got))
			whole := got.Window.FromNS == first
			if code != http.StatusOK || whole != (query == "") || !strings.Contains(got.Window.Note, note) {
				t.Errorf("%s%s: status %d, window %+v", path, query, code, got.Window)
			}
			if len(got.Lost) != 1 || got.Lost["healed"] != 24 {
				t.Errorf("%s%s: lost %v", path, query, got.Lost)
			}
		}
	}
}

// TestLedgersAddUpToNoMoreThanThereIs: an operation that the program calls, and that other
// calls call, counts once, whichever is more frequent.
func TestLedgersAddUpToNoMoreThanThereIs(t *testing.T) {
	outer, _ := event.ByName("cudaMalloc")
	inner, _ := event.ByName("cuMemAlloc")
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 16))
		who := event.Thread{PID: 7, TID: 7}
		b := &store.Batch{Tables: store.Tables{Threads: []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}}}}
		first := uint64(1_700_000_000_000_000_000) + rng.Uint64N(1e9)
		at, inCalls := first, uint64(0)
		for range 300 {
			d := 1000 + rng.Uint64N(1<<(10+rng.Uint64N(20)))
			l := event.Ledger{Voluntary: 1}
			l.NS[event.Futex] = rng.Uint64N(d)
			c := event.Call{Start: at, Duration: d, Thread: who, Op: outer.Op, GPU: event.NoGPU, Ledger: l}
			n := event.Call{Start: at + 1, Duration: d - 2, Thread: who, Op: inner.Op, Depth: 1, GPU: event.NoGPU, Ledger: l}
			switch rng.Uint64N(3) {
			case 0:
				b.Calls = append(b.Calls, c, n)
			case 1:
				b.Calls = append(b.Calls, c)
			case 2:
				n.Depth, n.Start, n.Duration = 0, at, d
				b.Calls = append(b.Calls, n)
			}
			at, inCalls = at+d+rng.Uint64N(100_000), inCalls+d
		}
		code, body := ask(t, api(t, recordedOnce(t, b)), "GET", nodeapi.Prefix+"ledger", "")
		var got wire.Ledgers
		if must(t, json.Unmarshal(body, &got)); code != http.StatusOK || len(got.Threads) != 1 {
			t.Fatalf("%d %s", code, body)
		}
		l, sum := got.Threads[0], uint64(0)
		for _, ns := range l.InCalls {
			sum += ns
		}
		for _, ns := range l.BetweenNS {
			sum += ns
		}
		if l.CallsNS != inCalls || l.Calls != 300 || sum > l.WallNS {
			t.Errorf("seed %d: %d calls of %d ns, want 300 of %d; classes add up to %d of %d", seed, l.Calls, l.CallsNS, inCalls,
				sum, l.WallNS)
		}
	}
}

// TestAnswersOfSQLHaveNotesOnSums: answers over HTTP have the same notes as those of the command
// line, with the number.
func TestAnswersOfSQLHaveNotesOnSums(t *testing.T) {
	who, first := event.Thread{PID: 7, TID: 7}, uint64(1_700_000_000_000_000_000)
	launch, _ := event.ByName("cudaLaunchKernel")
	h := api(t, recordedOnce(t, &store.Batch{Tables: store.Tables{
		Records: event.Records{
			Calls: []event.Call{
				{Start: first, Duration: 10, Thread: who, Op: launch.Op},
				{Start: first + 1, Duration: 5, Thread: who, Op: launch.Op, Depth: 1},
			},
			OffCPU: []event.OffCPU{{Start: first, Duration: 100_000, Thread: who, Class: event.Sleep}},
			ThreadTimes: []event.ThreadTime{{
				Thread: who, At: first + 1e9,
				NS: [event.NumClasses]uint64{event.Sleep: 4_916_000_000},
			}},
		},
	}}))
	for sql, want := range map[string]string{
		"select sum(duration_ns) from off_cpu":     "off_cpu_times: sum(duration_ns) = 4916000000",
		"select sum(duration_ns) from cuda_events": "sum(duration_ns) = 10",
		"select duration_ns from off_cpu":          "",
	} {
		question, err := json.Marshal(wire.Question{SQL: sql})
		must(t, err)
		code, body := ask(t, h, "POST", nodeapi.Prefix+"query", string(question))
		var got struct {
			Notes []struct{ Text, Of string }
		}
		must(t, json.Unmarshal(body, &got))
		switch {
		case code == http.StatusOK && want == "" && len(got.Notes) == 0:
		case code != http.StatusOK || len(got.Notes) != 1 || want == "" || !strings.Contains(got.Notes[0].Text, want):
			t.Errorf("%s: status %d, notes %q, want %q", sql, code, got.Notes, want)
		}
	}
}
