package discover_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/discover"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/cudastub/embedded"
)

// machine is a /proc of processes that have files mapped, in their own root.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T) *machine { return &machine{t, t.TempDir()} }

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return i.Sys().(*syscall.Stat_t).Ino
}

// process gives process pid a root, and maps the files: executable, and again not.
func (m *machine) process(pid int, root string, files ...string) {
	m.t.Helper()
	dir := filepath.Join(m.root, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(dir, "root")); err != nil {
		m.t.Fatal(err)
	}
	var maps strings.Builder
	for i, f := range files {
		at, ino := uint64(0x7f0000000000)+uint64(i)<<20, inode(m.t, filepath.Join(root, f))
		fmt.Fprintf(&maps, "%x-%x r--p 00000000 fe:00 %d %s\n", at, at+0x1000, ino, f)
		fmt.Fprintf(&maps, "%x-%x r-xp 00001000 fe:00 %d %s\n", at+0x1000, at+0x2000, ino, f)
	}
	if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(maps.String()), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) finder() *discover.Finder {
	return discover.New(proc.New(m.root), all.Libraries())
}

// found words what a finder finds in a process.
func found(t *testing.T, f *discover.Finder, pid int) string {
	t.Helper()
	files, err := f.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, x := range files {
		w := string(x.Kind) + " " + filepath.Base(x.Mapping.Path)
		if x.Embedded {
			w += " embedded"
		}
		switch {
		case x.Err != nil:
			w += " unreadable"
		case x.Library == nil:
			w += " untimed"
		default:
			found, err := x.Library.Find(x.Path)
			if err != nil || len(found.Targets) == 0 {
				t.Errorf("%s: nothing to attach to (%v)", x.Path, err)
			}
		}
		s = append(s, w)
	}
	return strings.Join(s, ", ")
}

func programs(t *testing.T) (cudastub.Files, embedded.Files) {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if errors.Is(err, cudastub.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	inside, err := embedded.Extract(files)
	if err != nil {
		t.Fatal(err)
	}
	return files, inside
}

func TestLibrariesOfAProcessAreFound(t *testing.T) {
	files, inside := programs(t)
	runtime, driver := filepath.Join(files.LibDir, "libcudart.so.12"), filepath.Join(files.LibDir, "libcuda.so.1")
	nccl := filepath.Join(t.TempDir(), "libnccl.so.2.21.5")
	damaged := filepath.Join(t.TempDir(), "libx.so")
	if err := os.WriteFile(damaged, []byte("\x7fELF\x02\x01\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(filepath.Join(files.LibDir, "libnccl.so.2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(nccl, library, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		files          []string
		want, thorough string // thorough: "" is the same
	}{
		{[]string{files.Victim}, "", ""},
		{[]string{files.Victim, runtime, driver}, "runtime libcudart.so.12, driver libcuda.so.1", ""},
		{[]string{damaged, nccl}, "nccl libnccl.so.2.21.5", ""},
		{[]string{inside.Static}, "runtime victim-static embedded", ""},
		{[]string{inside.Static, driver}, "runtime victim-static embedded, driver libcuda.so.1", ""},
		{[]string{inside.Stripped}, "", "runtime victim-stripped embedded untimed"},
		{
			[]string{inside.Stripped, driver},
			"driver libcuda.so.1",
			"runtime victim-stripped embedded untimed, driver libcuda.so.1",
		},
		{[]string{inside.Engine, inside.Library}, "", ""}, // no device code, and no driver yet
		{[]string{inside.Engine, inside.Library, driver}, "runtime libengine.so embedded, driver libcuda.so.1", ""},
		{
			[]string{inside.Static, inside.Library, runtime, driver},
			"runtime libcudart.so.12, runtime victim-static embedded, runtime libengine.so embedded, driver libcuda.so.1", "",
		},
	} {
		m := newMachine(t)
		m.process(1, "/", c.files...)
		f := m.finder()
		if got := found(t, f, 1); got != c.want {
			t.Errorf("case %d: found %q, want %q", i, got, c.want)
		}
		if got := found(t, f, 1); got != c.want { // from memory
			t.Errorf("case %d, asked again: found %q, want %q", i, got, c.want)
		}
		thorough := m.finder()
		thorough.Thorough = true
		want := c.thorough
		if want == "" {
			want = c.want
		}
		if got := found(t, thorough, 1); got != want {
			t.Errorf("case %d: thoroughly found %q, want %q", i, got, want)
		}
	}
}

func TestNamedProcessesAreSearchedBeforeTheyUseCUDA(t *testing.T) {
	_, inside := programs(t)
	m := newMachine(t)
	m.process(1, "/", inside.Engine, inside.Library)
	f := m.finder()
	f.Eager = true
	if got, want := found(t, f, 1), "runtime libengine.so embedded"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if !f.Matters(probe.Mapped{PID: 1, Path: inside.Library, Inode: inode(t, inside.Library)}, false) {
		t.Error("a library with a runtime does not matter")
	}
}

// TestAFileIsSearchedOnceItsProcessUsesCUDA has one process that does not, and
// another that does, in the same second.
func TestAFileIsSearchedOnceItsProcessUsesCUDA(t *testing.T) {
	files, inside := programs(t)
	m := newMachine(t)
	m.process(1, "/", inside.Engine, inside.Library)
	m.process(2, "/", inside.Engine, inside.Library, filepath.Join(files.LibDir, "libcuda.so.1"))
	f := m.finder()
	for pid, want := range map[int]string{1: "", 2: "runtime libengine.so embedded, driver libcuda.so.1"} {
		if got := found(t, f, pid); got != want {
			t.Errorf("process %d: found %q, want %q", pid, got, want)
		}
	}
}

func TestFilesAreOpenedThroughTheRootOfTheirProcess(t *testing.T) {
	files, _ := programs(t)
	m := newMachine(t)
	m.process(1, files.Dir, "/lib/libcudart.so.12", "/lib/libcuda.so.1")
	if got, want := found(t, m.finder(), 1), "runtime libcudart.so.12, driver libcuda.so.1"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestALibraryThatCannotBeOpenedIsReported(t *testing.T) {
	files, _ := programs(t)
	m := newMachine(t)
	m.process(1, files.Dir, "/lib/libcudart.so.12")
	if err := os.Remove(filepath.Join(files.LibDir, "libcudart.so.12")); err != nil {
		t.Fatal(err)
	}
	x, err := m.finder().Process(1)
	if err != nil || len(x) != 1 || !errors.Is(x[0].Err, fs.ErrNotExist) || x[0].Path != "" {
		t.Errorf("found %+v, %v", x, err)
	}
}

// TestAReplacedFileIsReadAgain: a name, and even an inode number, may stand
// for another file later.
func TestAReplacedFileIsReadAgain(t *testing.T) {
	_, inside := programs(t)
	path := filepath.Join(t.TempDir(), "program")
	write := func(from string) {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(inside.Engine)
	m := newMachine(t)
	m.process(1, "/", path)
	f := m.finder()
	mapped := probe.Mapped{PID: 1, Path: path, Inode: inode(t, path)}
	if f.Matters(mapped, false) {
		t.Error("a program without a runtime matters")
	}
	write(inside.Static) // into the same inode
	if !f.Matters(mapped, false) {
		t.Error("a program with device code does not matter")
	}
}

func TestMattersByName(t *testing.T) {
	f := newMachine(t).finder()
	for path, want := range map[string]bool{"/x/libcudart.so.12": true, "/x/libnccl.so.2": true, "/x/libc.so.6": false} {
		if got := f.Matters(probe.Mapped{PID: 1, Path: path}, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !f.Matters(probe.Mapped{PID: 1, Path: "/deleted/plugin.so"}, true) {
		t.Error("a file that is gone is not looked for in a process that uses CUDA")
	}
}
