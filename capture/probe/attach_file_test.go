package probe_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// The owner of a folder may give a library's name to another file after the library was read. The probes are placed in
// the file that was read: in another one, as the machine's libc, they would be in the middle of instructions.
func TestProbesArePlacedInTheFileThatWasRead(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	eachFast(t, func(t *testing.T, backend probe.Backend) {
		tr, err := probe.Open(probe.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tr.Close() })
		for _, name := range []string{"libcudart.so.12", "libcuda.so.1"} {
			for _, lib := range all.Libraries() {
				if !lib.File.MatchString(name) {
					continue
				}
				file := renamedOver(t, filepath.Join(files.LibDir, name))
				a, err := tr.AttachFile(lib, file, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := tr.Detach(a); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// renamedOver opens a copy of a file, and gives its name to a file in which no probe has room.
func renamedOver(t *testing.T, path string) *os.File {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, other := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "other")
	for name, b := range map[string][]byte{to: b, other: b[:64]} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := limit.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if err := os.Rename(other, to); err != nil {
		t.Fatal(err)
	}
	return file
}
