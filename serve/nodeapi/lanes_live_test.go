package nodeapi_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestLanesOfARecordingThatGrows asks while it is written: each answer has all that is
// stored, also calls that are written long after they began.
func TestLanesOfARecordingThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	launch, ok := event.ByName("cudaLaunchKernel")
	if !ok {
		t.Fatal("no such operation")
	}
	start := storetest.DefaultStart
	w, err := storetest.OpenWriter(path, sqlite.Options{Session: store.Session{Started: start, Node: "n"}})
	must(t, err)
	h := api(t, path)
	at := start
	for round := range 12 {
		b := store.Batch{}
		for range 500 { // two seconds
			b.Calls = append(b.Calls, event.Call{
				Start: at, Duration: 1_000_000, Thread: event.Thread{PID: 7, TID: 7},
				Op: launch.Op, GPU: event.NoGPU,
			})
			at += uint64(4 * time.Millisecond)
		}
		// It began three seconds ago, on another thread.
		b.Calls = append(b.Calls, event.Call{
			Start: at - uint64(3*time.Second), Duration: uint64(3 * time.Second),
			Thread: event.Thread{PID: 7, TID: 8}, Op: launch.Op, GPU: event.NoGPU,
		})
		must(t, w.Write(&b))
		must(t, w.Flush(t.Context()))
		want := asked(t, h)
		for _, q := range []string{"since=all&rows=0", fmt.Sprintf("from=%d&to=%d&rows=0&buckets=1", start-1e10, at+1e10)} {
			l := lanesOf(t, h, q)
			if got := sums(&l); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("round %d, %s: %v, want %v", round, q, got, want)
			}
		}
	}
	must(t, w.Close())
	if l := lanesOf(t, h, "since=all&rows=0"); fmt.Sprint(sums(&l)) != fmt.Sprint(asked(t, h)) {
		t.Errorf("at the end: %v", sums(&l))
	}
}

// TestLanesOfSessionsDaysApart has a picture as fine as that of one session.
func TestLanesOfSessionsDaysApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "days.db")
	for i := range uint64(2) {
		l := storetest.Load{Calls: 4000, Waits: true, Start: storetest.DefaultStart + i*uint64(72*time.Hour)}
		must(t, storetest.Build(path, l, sqlite.Options{Session: store.Session{Started: l.Start, Node: "n"}}))
	}
	h := api(t, path)
	l := lanesOf(t, h, "since=all&rows=0")
	if got, want := sums(&l), asked(t, h); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	// The days between do not make buckets coarse: a call is 6 us.
	from := storetest.DefaultStart + uint64(72*time.Hour)
	near := lanesOf(t, h, fmt.Sprintf("from=%d&to=%d&rows=0", from, from+1e8))
	if near.BucketNS > 1<<20 {
		t.Errorf("buckets of %d ns", near.BucketNS)
	}
}
