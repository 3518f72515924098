package recording_test

import (
	"context"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// steadyCalls is a recording with a call each millisecond.
type steadyCalls struct{ sum store.Summary }

func (s steadyCalls) Summary(context.Context) (store.Summary, error) { return s.sum, nil }

func (s steadyCalls) CallsIn(_ context.Context, w store.Window) (uint64, error) {
	if w == (store.Window{}) {
		w = store.Window{From: s.sum.First, To: s.sum.Last + 1}
	}
	return (w.To - w.From) / uint64(time.Millisecond), nil
}

// TestWindowOfARecordingByItsState: a recording that is not being written is taken as a whole,
// however recent its end. In each case the note says what is left out.
func TestWindowOfARecordingByItsState(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type asked = recording.Span
	const (
		complete = iota
		written
		killed
	)
	for _, c := range []struct {
		name  string
		state int
		ended time.Duration // before now
		span  recording.Span
		takes time.Duration
		note  string
	}{
		{
			"just complete", complete, 4 * time.Minute,
			asked{},
			10 * time.Minute,
			"the recording ended 4m ago; this shows all of it",
		},
		{"complete", complete, time.Hour, asked{}, 10 * time.Minute, "the recording ended 1h ago; this shows all of it"},
		{"cut off", killed, 4 * time.Minute, asked{}, 10 * time.Minute, "the recording ended 4m ago; this shows all of it"},
		{
			"complete, from ahead of our clock", complete, -time.Hour,
			asked{},
			10 * time.Minute,
			"the recording has ended; this shows all of it",
		},
		{
			"being written", written, 0,
			asked{},
			5 * time.Minute,
			"the recording has 300,000 calls more before it",
		},
		{"being written, all", written, 0, asked{Since: "all"}, 10 * time.Minute, ""},
		{
			"complete, the last minute", complete, time.Hour,
			asked{Since: "1m", Dashes: "--"},
			time.Minute,
			"the recording ended 1h ago; this shows its last 1m of 10m (--since all shows everything); " +
				"the recording has 540,000 calls more before it",
		},
		{
			"just complete, the last minute", complete, 59 * time.Second,
			asked{Since: "1m"},
			time.Minute,
			"the recording ended 59s ago; this shows its last 1m of 10m (since all shows everything); " +
				"the recording has 540,000 calls more before it",
		},
		{
			"its begin", complete, 10 * time.Minute,
			asked{From: "2026-03-01T11:40:00Z", To: "2026-03-01T11:42:00Z"},
			2 * time.Minute,
			"the recording has 480,000 calls more after it",
		},
		{
			"its middle", complete, 10 * time.Minute,
			asked{From: "2026-03-01T11:41:00Z", To: "2026-03-01T11:42:00Z"},
			time.Minute,
			"the recording has 540,000 calls more before and after it",
		},
	} {
		end := now.Add(-c.ended)
		s := store.Session{Started: uint64(end.Add(-10 * time.Minute).UnixNano()), Flushed: uint64(end.UnixNano())}
		if c.state == complete {
			s.Stopped = s.Flushed
		}
		sum := store.Summary{Sessions: []store.Session{s}, First: s.Started, Last: s.Flushed - 1}
		p, err := recording.Choose(t.Context(), steadyCalls{sum}, c.span, now)
		if err != nil {
			t.Fatal(err)
		}
		from, to := p.Bounds()
		if got := time.Duration(to - from); got != c.takes || p.Note != c.note {
			t.Errorf("%s: %v with note %q, want %v with %q", c.name, got, p.Note, c.takes, c.note)
		}
		if p.Live != (c.state == written) || p.Whole() != (c.takes == 10*time.Minute) {
			t.Errorf("%s: live %t, whole %t", c.name, p.Live, p.Whole())
		}
	}
	_, err := recording.Choose(t.Context(), steadyCalls{}, asked{Since: "yesterday"}, now)
	if !recording.IsMistaken(err) {
		t.Errorf("%v is not said to be the asker's mistake", err)
	}
}
