package limit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/capture/probe/discover"
	"github.com/ingero-io/ingero/capture/symbol/elf"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/internal/hostile/elffile"
)

// mostBytes is what reading a file may allocate, in bytes, freed or not. Most is for packed symbols: the
// file's, what they unpack to, its dictionary, and what is made of them.
const mostBytes = 72 << 20

// mapped is a /proc in which process 1 has mapped a file, the code that is at 0x10000 in it at 0x10000.
func mapped(t *testing.T, file string) (root string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "1")
	if err := os.MkdirAll(filepath.Join(dir, "task", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	maps := fmt.Sprintf("10000-20000 r-xp 00010000 fe:00 %d %s\n", i.Sys().(*syscall.Stat_t).Ino, file)
	if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(maps), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// addresses are some in the mapped code.
var addresses = []uint64{0x10001, 0x10011, 0x10801, 0x1fff0}

// readers are all that read files which a process has mapped. They return what they say of a file that they
// refuse.
var readers = []struct {
	name string
	read func(root, file string) error
}{
	{"probe", func(_, file string) error {
		_, err := all.Libraries()[0].Find(file)
		return err
	}},
	{"embedded", func(_, file string) error {
		_, err := all.Libraries()[0].In().Find(file)
		return err
	}},
	{"discover", func(root, _ string) error {
		f := discover.New(proc.New(root), all.Libraries())
		f.Thorough, f.Eager = true, true
		_, err := f.Process(1)
		return err
	}},
	{"cudalib", func(_, file string) error {
		i, err := cudalib.OpenImage(file)
		if err != nil {
			return err
		}
		defer i.Close()
		has := []bool{i.HasDeviceCode(), i.NeedsRuntime(), i.HasRuntimeSymbols(), i.HasRuntimeText()}
		if n := len(fmt.Sprint(i.Soname(), i.BuildID(), has)); n > 1<<10 {
			return fmt.Errorf("it says %d bytes of itself", n)
		}
		return nil
	}},
	{"symbols", func(root, _ string) (err error) {
		r := elf.New(proc.New(root))
		defer r.Close()
		r.Refused = func(_ string, why error) { err = why }
		r.Resolve(1, addresses)
		return err
	}},
	{"unwind", func(root, _ string) (err error) {
		u := unwind.New(proc.New(root))
		defer u.Close()
		u.Refused = func(_ string, why error) { err = why }
		for _, at := range addresses {
			u.Unwind(1, u.Arch().Start(at, 0x7000, make([]uint64, len(u.Arch().Saved))), &unwind.Memory{
				Base: 0x7000, Data: make([]byte, 4096),
			})
		}
		return err
	}},
	{"python", func(root, _ string) error {
		i, err := python.NewFinder(proc.New(root)).Find(1)
		if i != nil { // it is used, as on a machine
			python.Walk(func(_ uint64, b []byte) bool { copy(b, strings.Repeat("\x01", len(b))); return true }, &i.Layout, 1)
		}
		return err
	}},
	{"coverage", func(root, _ string) error {
		_, err := coverage.Examine(&coverage.Options{Proc: root, Libraries: all.Libraries(), PIDs: []int{1}})
		return err
	}},
}

// TestAttacksAreReadWithLittleMemory gives every attack to every reader, under every name that matters.
func TestAttacksAreReadWithLittleMemory(t *testing.T) {
	for _, a := range elffile.Attacks() {
		t.Run(a.Name, func(t *testing.T) {
			whole := filepath.Join(t.TempDir(), "file")
			if err := a.Write(whole); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"libcudart.so.12", "python3.13", "program"} {
				file := filepath.Join(filepath.Dir(whole), name)
				if err := os.Link(whole, file); err != nil {
					t.Fatal(err)
				}
				root := mapped(t, file)
				for _, r := range readers {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := r.read(root, file)
					runtime.ReadMemStats(&after)
					n := after.TotalAlloc - before.TotalAlloc
					if n > mostBytes {
						t.Errorf("%s of %s: %d MiB allocated", r.name, name, n>>20)
					}
					t.Logf("%s of %s: %d KiB, %v", r.name, name, n>>10, err)
				}
			}
		})
	}
}
