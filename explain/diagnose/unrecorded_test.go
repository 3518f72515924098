package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
