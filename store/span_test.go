package store_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/store"
)

func TestARecordingFromAheadOfOurClockIsNotCut(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) uint64 { return uint64(now.Add(d).UnixNano()) }
	span := store.Span{Since: store.DefaultSince}
	for _, sum := range []store.Summary{
		{First: at(-time.Minute), Last: at(time.Minute)},
		{First: at(time.Hour), Last: at(time.Hour + time.Minute)},
	} {
		got, note, err := span.Window(sum, now)
		if want := (store.Window{From: sum.First, To: sum.Last + 1}); err != nil || got != want || note != "" {
			t.Errorf("of %+v: %+v, note %q, %v", sum, got, note, err)
		}
	}
}
