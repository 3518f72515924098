package soak

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRecordingsWithAWrongFindingAreKept(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	w := &world{keep: keep, numbers: map[string]int64{}, tracer: &tracer{recording: filepath.Join(dir, "soak.db")}}
	for _, end := range []string{"", "-wal"} {
		if err := os.WriteFile(w.tracer.recording+end, []byte("recording"+end), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const more = 7
	for range more {
		if err := w.keepRecording([]byte("report")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"wrong-1.db": "recording", "wrong-1.db-wal": "recording-wal", "wrong-1.json": "report", "wrong-5.json": "report",
	} {
		if got, err := os.ReadFile(filepath.Join(keep, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(keep, "wrong-6.db")); err == nil {
		t.Error("more than five recordings are kept")
	}
}
