package diagnose

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func TestTheRecordedPartIsExplained(t *testing.T) {
	t.Parallel()
	w := store.Window{From: 1000, To: 2000}
	for name, tc := range map[string]struct {
		pauses []store.Pause
		want   store.Window
		whole  bool
	}{
		"no pause":          {nil, w, true},
		"a short pause":     {[]store.Pause{{From: 1400, To: 1450}}, w, true},
		"many short pauses": {[]store.Pause{{From: 1100, To: 1140}, {From: 1400, To: 1440}}, store.Window{From: 1440, To: 2000}, false},
		"the end":           {[]store.Pause{{From: 1400, To: 1900}}, store.Window{From: 1000, To: 1400}, false},
		"the later part":    {[]store.Pause{{From: 900, To: 1300}}, store.Window{From: 1300, To: 2000}, false},
		"between two":       {[]store.Pause{{From: 900, To: 1300}, {From: 1800, To: 3000}}, store.Window{From: 1300, To: 1800}, false},
		"overlapping":       {[]store.Pause{{From: 1000, To: 1600}, {From: 1200, To: 1300}}, store.Window{From: 1600, To: 2000}, false},
		"outside":           {[]store.Pause{{From: 100, To: 900}, {From: 2100, To: 3000}}, w, true},
		"nothing is left":   {[]store.Pause{{From: 100, To: 3000}}, w, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, whole := recordedPart(w, tc.pauses)
			if d := cmp.Diff(tc.want, got); d != "" || whole != tc.whole {
				t.Errorf("whole: %v; part (-want +got):\n%s", whole, d)
			}
		})
	}
}

func TestNotesSayWhatWasNotRecorded(t *testing.T) {
	t.Parallel()
	const sec = 1_000_000_000
	in := &Input{Window: store.Window{From: 100 * sec, To: 200 * sec}}
	in.loadPauses([]store.Pause{{From: 110 * sec, To: 140 * sec, Why: "the disk was full"}}, store.Window{})
	if in.Window != (store.Window{From: 140 * sec, To: 200 * sec}) {
		t.Errorf("explained is %+v", in.Window)
	}
	notes := strings.Join(in.pauseNotes(), "\n")
	for _, want := range []string{"not recorded from ", " (30 s): the disk was full", "longest part that was recorded, from "} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in:\n%s", want, notes)
		}
	}
	for range 5 {
		in.Pauses = append(in.Pauses, in.Pauses[0])
	}
	if notes := strings.Join(in.pauseNotes(), "\n"); !strings.Contains(notes, "not recorded 3 more times") {
		t.Errorf("all are named:\n%s", notes)
	}
}

// lossy has what was dropped, by time.
type lossy struct {
	store.Reader
	list []store.Loss
	err  error
}

func (l lossy) Tables(_ context.Context, w store.Window, lists ...any) error {
	for _, list := range lists {
		to := list.(*[]store.Loss)
		for _, x := range l.list {
			if x.At/wholeSecond >= w.From/wholeSecond && x.At <= w.To {
				*to = append(*to, x)
			}
		}
	}
	return l.err
}

// A disk that was full for minutes, an hour ago, does not make what is explained now doubtful.
func TestWhatWasDroppedAtOtherTimesDoesNotCount(t *testing.T) {
	t.Parallel()
	const sec = wholeSecond
	loss := func(at uint64, k event.LossKind, n uint64) store.Loss {
		return store.Loss{At: at * sec, Loss: event.Loss{Kind: k, Count: n}}
	}
	r := lossy{list: []store.Loss{
		loss(90, event.LostCall, 1), loss(104, event.LostStored, 2), loss(110, event.LostStored, 4),
		loss(140, event.LostCall, 8), loss(150, event.LostStored, 16), loss(201, event.LostCall, 32),
		loss(300, event.LostCall, 64),
	}}
	in := &Input{Window: store.Window{From: 100 * sec, To: 200 * sec}}
	in.loadPauses([]store.Pause{{From: 104*sec + 5, To: 108 * sec}}, store.Window{})
	if err := in.loadDropped(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var n uint64
	for _, l := range in.Dropped {
		n += l.Count
	}
	if want := uint64(4 + 8 + 16 + 32); n != want {
		t.Errorf("%d were dropped, want %d: %v", n, want, in.Dropped)
	}
	r.err = errors.New("no disk")
	if err := in.loadDropped(t.Context(), r); !errors.Is(err, r.err) {
		t.Error(err)
	}
}
