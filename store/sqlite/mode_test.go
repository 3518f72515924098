package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	i, err := os.Stat(path)
	must(t, err)
	return i.Mode().Perm()
}

// TestRecordingsArePrivate: with any umask, others cannot read a new recording, its log and its index.
func TestRecordingsArePrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	for want, o := range map[fs.FileMode]sqlite.Options{0o600: {}, 0o640: {Group: true}} {
		path := filepath.Join(t.TempDir(), "new.db")
		w, err := sqlite.OpenWriter(path, o)
		must(t, err)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if got := modeOf(t, path+suffix); got != want {
				t.Errorf("%s: %o, want %o", suffix, got, want)
			}
		}
		must(t, w.Close())
	}
}

// TestModeOfAFileStays: who could read a recording, or could not, still can, or cannot.
func TestModeOfAFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	for _, mode := range []fs.FileMode{0o644, 0o600} {
		must(t, os.WriteFile(path, nil, mode))
		must(t, os.Chmod(path, mode))
		w, err := sqlite.OpenWriter(path, sqlite.Options{Group: true})
		must(t, err)
		must(t, w.Close())
		if got := modeOf(t, path); got != mode {
			t.Errorf("%o, want %o", got, mode)
		}
		must(t, os.Remove(path))
	}
}

// TestMergedRecordingsArePrivate: a new one is, and one that is replaced has the mode of the old.
func TestMergedRecordingsArePrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	var in []sqlite.MergeInput
	for _, name := range []string{"a.db", "b.db"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := sqlite.OpenWriter(path, sqlite.Options{
			Seed: 1, Session: store.Session{Node: name, Host: name},
		})
		must(t, err)
		must(t, w.Close())
		in = append(in, sqlite.MergeInput{Path: path})
	}
	out := filepath.Join(t.TempDir(), "merged.db")
	for _, want := range []fs.FileMode{0o600, 0o644} {
		_, err := sqlite.Merge(t.Context(), out, in, sqlite.MergeOptions{Overwrite: true})
		must(t, err)
		if got := modeOf(t, out); got != want {
			t.Errorf("%o, want %o", got, want)
		}
		must(t, os.Chmod(out, 0o644))
	}
}
