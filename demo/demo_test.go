package demo

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

func TestScenariosAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios {
		if seen[s.Name] || s.Title == "" || s.Story == "" || len(s.args) == 0 {
			t.Errorf("scenario %q is named twice or lacks something", s.Name)
		}
		seen[s.Name] = true
		if !s.Healthy() && !slices.Contains(event.Causes, s.Expect) {
			t.Errorf("%s expects %q, which is no kind of cause", s.Name, s.Expect)
		}
		if found, err := Find(s.Name); err != nil || found.Name != s.Name {
			t.Errorf("Find(%q) = %v, %v", s.Name, found, err)
		}
	}
	if _, err := Find("nonsense"); err == nil || !strings.Contains(err.Error(), "incident") {
		t.Errorf("an unknown name does not list the known ones: %v", err)
	}
}

// maxPacked is the largest size of a recording in the binary, bytes.
const maxPacked = 150_000

// TestEveryScenarioIsReplayedRight checks what a user without permission to trace gets.
func TestEveryScenarioIsReplayedRight(t *testing.T) {
	for i := range Scenarios {
		s := &Scenarios[i]
		t.Run(s.Name, func(t *testing.T) {
			info, err := fs.Stat(recorded, "recorded/"+databaseName(s.Name))
			if err != nil {
				t.Fatalf("%v; record it with make demo-record", err)
			}
			if info.Size() > maxPacked {
				t.Errorf("the recording has %d bytes, at most %d are meant", info.Size(), maxPacked)
			}
			var mode, reason string
			o := &Options{Begin: func(m, r string) { mode, reason = m, r }}
			r, err := replay(t.Context(), s, o, t.TempDir(), "for a test")
			if err != nil {
				t.Fatal(err)
			}
			if !r.Right {
				t.Errorf("explained as: %s", r.Report.Verdict)
			}
			if mode != Recorded || reason != "for a test" || r.Mode != Recorded || r.Reason != reason {
				t.Errorf("does not say that it is a replay: %q %q %q %q", mode, reason, r.Mode, r.Reason)
			}
		})
	}
}

func TestEveryRecordingBelongsToAScenario(t *testing.T) {
	files, err := fs.Glob(recorded, "recorded/*.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := Find(strings.TrimSuffix(filepath.Base(f), ".db.gz")); err != nil {
			t.Errorf("%s belongs to no scenario", f)
		}
	}
}

func TestBlames(t *testing.T) {
	process := cudastub.Truth{PID: 1, TID: 1, Injection: cudastub.Injection{CulpritPID: 9, CulpritTID: 9}}
	thread := cudastub.Truth{PID: 1, TID: 1, Injection: cudastub.Injection{CulpritPID: 1, CulpritTID: 3, HolderTID: 3}}
	nobody := cudastub.Truth{PID: 1, TID: 1}
	tests := []struct {
		name  string
		cause report.Cause
		truth cudastub.Truth
		want  bool
	}{
		{"the process", report.Cause{PID: 9, TID: 10}, process, true},
		{"another process", report.Cause{PID: 8, TID: 9}, process, false},
		{"the thread that holds the lock", report.Cause{PID: 1, TID: 3}, thread, true},
		{"another thread of the program", report.Cause{PID: 1, TID: 1}, thread, false},
		{"nobody is to blame", report.Cause{PID: 1, TID: 1}, nobody, true},
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, tt := range tests {
		got[tt.name], want[tt.name] = blames(&tt.cause, &tt.truth), tt.want
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("blames (-want +got):\n%s", d)
	}
}
