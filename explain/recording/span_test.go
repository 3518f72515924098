package recording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

func TestARecordingFromAFasterClockIsNotCut(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) uint64 { return uint64(now.Add(d).UnixNano()) }
	span := recording.Span{}
	going := []store.Session{{Started: at(-time.Minute)}}
	for _, sum := range []store.Summary{
		{First: at(-time.Minute), Last: at(time.Minute), Sessions: going},
		{First: at(time.Hour), Last: at(time.Hour + time.Minute), Sessions: going},
	} {
		got, note, err := span.Window(sum, now)
		if want := (store.Window{From: sum.First, To: sum.Last + 1}); err != nil || got != want || note != "" {
			t.Errorf("of %+v: %+v, note %q, %v", sum, got, note, err)
		}
	}
}

// TestTimeOutsideTheRecordingIsNoted: an empty answer would mean that nothing happened.
func TestTimeOutsideTheRecordingIsNoted(t *testing.T) {
	sum := store.Summary{First: 1_700_000_000e9, Last: 1_700_000_060e9}
	for _, c := range []struct{ from, to, note string }{
		{"1700000061", "1700000090", "the recording covers 2023-11-14T22:13:20Z to 2023-11-14T22:14:20Z"},
		{"", "1700000000", "nothing was recorded in this window"},
		{"1800000000", "", "nothing was recorded in this window"},
		{"1700000060", "1800000000", ""},
		{"", "1700000001", ""},
	} {
		_, note, err := recording.Span{From: c.from, To: c.to}.Window(sum, time.Now())
		if err != nil || !strings.Contains(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%s to %s: %q, %v", c.from, c.to, note, err)
		}
	}
	_, _, err := recording.Span{From: "1700000060", To: "1700000010", Dashes: "--"}.Window(sum, time.Now())
	if err == nil || err.Error() != "--to 1700000010 is not after --from 1700000060" {
		t.Errorf("%v", err)
	}
}

// A time of day is on the last day on which the recording has it.
func TestTimesOfDay(t *testing.T) {
	at := func(day, hour, minute int) uint64 {
		return uint64(time.Date(2026, 3, day, hour, minute, 0, 0, time.Local).UnixNano())
	}
	// From ten in the evening until two.
	sum := store.Summary{First: at(1, 22, 0), Last: at(2, 2, 0)}
	for _, c := range []struct {
		from, to string
		want     store.Window
	}{
		{"23:00", "01:00", store.Window{From: at(1, 23, 0), To: at(2, 1, 0)}},
		{"01:00", "01:30", store.Window{From: at(2, 1, 0), To: at(2, 1, 30)}},
		{"01:00", "02:30", store.Window{From: at(2, 1, 0), To: at(2, 2, 30)}}, // it ended before
		{"22:30", "22:10", store.Window{From: at(1, 22, 30), To: at(2, 22, 10)}},
		{"23:00", "", store.Window{From: at(1, 23, 0)}},
		{"", "23:30", store.Window{To: at(1, 23, 30)}},
		{"23:00:00", "2026-03-01 23:10", store.Window{From: at(1, 23, 0), To: at(1, 23, 10)}},
	} {
		got, note, err := recording.Span{From: c.from, To: c.to}.Window(sum, time.Unix(0, int64(at(9, 12, 0))))
		if err != nil || got != c.want || note != "" {
			t.Errorf("from %q to %q: %+v, want %+v; %q, %v", c.from, c.to, got, c.want, note, err)
		}
	}
	week := store.Summary{First: at(1, 12, 0), Last: at(8, 15, 0)}
	for from, want := range map[string]uint64{"14:00": at(8, 14, 0), "16:00": at(7, 16, 0), "15:00": at(8, 15, 0)} {
		if got, _, err := (recording.Span{From: from}).Window(week, time.Now()); err != nil || got.From != want {
			t.Errorf("from %q in a week: %d, want %d, %v", from, got.From, want, err)
		}
	}
	for _, wrong := range []string{"25:00", "1:2:3:4", "15.40"} {
		if _, _, err := (recording.Span{From: wrong}).Window(sum, time.Now()); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
