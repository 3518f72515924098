package ledger_test

import (
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

const ms = 1_000_000

func TestReclaimIsSplitAmongTheEpisodesItOverlaps(t *testing.T) {
	who := event.Thread{PID: 1, TID: 2}
	list := []ledger.Episode{
		{Start: 10 * ms, Duration: 5 * ms, Thread: who},
		{Start: 15 * ms, Duration: 5 * ms, Thread: who},
	}
	got := ledger.PlaceReclaims(list, []*event.Reclaim{
		{Start: 11 * ms, Duration: 2 * ms, NS: ms, Thread: who},     // in the first
		{Start: 14 * ms, Duration: 2 * ms, NS: 2 * ms, Thread: who}, // half in each
		{Start: 19 * ms, Duration: 4 * ms, NS: 4 * ms, Thread: who}, // a quarter in the second
		{Start: 50 * ms, Duration: 3 * ms, NS: 2 * ms, Thread: who}, // in none
		{Start: 60 * ms, Duration: 40_000, NS: 40_000, Thread: who}, // too little to be an episode
	})
	type part struct{ start, length, reclaim uint64 }
	var parts []part
	for i := range got {
		var ns uint64
		for _, r := range got[i].Reclaims {
			ns += r.Time
		}
		parts = append(parts, part{got[i].Start, got[i].Duration, ns})
	}
	want := []part{
		{10 * ms, 5 * ms, 2 * ms},
		{15 * ms, 5 * ms, 2 * ms},
		{19 * ms, 3 * ms, 3 * ms},
		{50 * ms, 3 * ms, 2 * ms},
	}
	if len(parts) != len(want) {
		t.Fatalf("got %v, want %v", parts, want)
	}
	for i := range want {
		if parts[i] != want[i] {
			t.Errorf("got %v, want %v", parts[i], want[i])
		}
	}
}
