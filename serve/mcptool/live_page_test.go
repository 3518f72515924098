package mcptool_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
)

// TestPagesOfAListAgreeWhileItIsRecorded: what is recorded between two pages, and changes
// the order, is in neither.
func TestPagesOfAListAgreeWhileItIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	w := openWriter(t, path)
	began := uint64(time.Now().Add(-time.Minute).UnixNano())
	launch, _ := event.ByName("cudaLaunchKernel")
	write := func(at uint64, durations ...uint64) {
		b := &store.Batch{}
		for i, d := range durations {
			who := event.Thread{PID: 100 + uint32(i), TID: 100 + uint32(i)}
			b.Processes = append(b.Processes,
				store.Process{PID: who.PID, Name: "trainer", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true})
			b.Threads = append(b.Threads, store.ThreadInfo{Thread: who, Comm: "trainer", Dispatch: true})
			b.Calls = append(b.Calls,
				event.Call{Start: at + uint64(i)*1000, Duration: d, Thread: who, Op: launch.Op, GPU: event.NoGPU})
		}
		must(t, w.Write(b))
		must(t, w.Flush(t.Context()))
	}
	write(began, 300, 200, 100)
	cs := connect(t, path, mcptool.Options{})
	var seen []int
	for args := map[string]any{"limit": 1}; ; {
		var page statsAnswer
		call(t, cs, "get_trace_stats", args, &page)
		for _, o := range page.Ops {
			seen = append(seen, o.PID)
		}
		if page.NextCursor == "" {
			break
		}
		args["cursor"] = page.NextCursor
		began += 2e9
		write(began, 1000, 5000, 9000)
	}
	if want := []int{100, 101, 102}; !slices.Equal(seen, want) {
		t.Errorf("the pages show processes %v, want %v: each once, in the order that they had first", seen, want)
	}
}
