package unwind_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// frames is a stack of frame pointers through the given return addresses. The
// last one's frame has no caller.
func frames(addrs ...uint64) (*unwind.Memory, uint64) {
	const base = 0x7000
	var b []byte
	for i := range addrs {
		b = binary.LittleEndian.AppendUint64(b, base+16*uint64(i+1))
		b = binary.LittleEndian.AppendUint64(b, addrs[i])
	}
	return &unwind.Memory{Base: base, Data: append(b, make([]byte, 16)...)}, base
}

// jit returns an unwinder with process 7, which runs code that is in no file.
func jit(t *testing.T) *unwind.Unwinder {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(root+"/7", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/7/maps", []byte("1000-2000 rwxp 00000000 00:00 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u := unwind.New(proc.New(root))
	t.Cleanup(u.Close)
	return u
}

func registers(u *unwind.Unwinder, pc, sp, fp uint64) unwind.Regs {
	saved := make([]uint64, 11)
	if u.Arch() == unwind.AMD64 {
		saved[1] = fp
	} else {
		saved[10] = fp
	}
	return u.Arch().Start(pc, sp, saved)
}

func TestCodeWithoutTablesIsWalkedByFramePointers(t *testing.T) {
	mem, fp := frames(0x1200, 0x1300)
	for _, tt := range []struct {
		name  string
		mem   *unwind.Memory
		want  []uint64
		whole bool
	}{
		{"to the end", mem, []uint64{0x1100, 0x1200, 0x1300}, true},
		{"the copy ends before", &unwind.Memory{Base: mem.Base, Data: mem.Data[:24]}, []uint64{0x1100, 0x1200}, false},
		{"nothing was copied", &unwind.Memory{Base: mem.Base}, []uint64{0x1100}, false},
	} {
		u := jit(t)
		got, whole := u.Unwind(7, registers(u, 0x1100, fp, fp), tt.mem)
		if !reflect.DeepEqual(got, tt.want) || whole != tt.whole {
			t.Errorf("%s: got %x, %v, want %x, %v", tt.name, got, whole, tt.want, tt.whole)
		}
	}
}

func TestInvalidFramePointersAreNotFollowed(t *testing.T) {
	u := jit(t)
	mem, fp := frames(0x1200, 0x999999)
	got, whole := u.Unwind(7, registers(u, 0x1100, fp, fp), mem)
	if want := []uint64{0x1100, 0x1200}; !reflect.DeepEqual(got, want) || whole {
		t.Errorf("got %x, %v, want %x: the next is not code", got, whole, want)
	}
}

func TestEndlessStacksAreCut(t *testing.T) {
	u := jit(t)
	addrs := make([]uint64, 2*unwind.MaxFrames)
	for i := range addrs {
		addrs[i] = 0x1200
	}
	mem, fp := frames(addrs...)
	if got, whole := u.Unwind(7, registers(u, 0x1100, fp, fp), mem); len(got) != unwind.MaxFrames || whole {
		t.Errorf("%d frames, whole: %v", len(got), whole)
	}
	// A chain of frame pointers that loops ends, too.
	binary.LittleEndian.PutUint64(mem.Data[16:], fp)
	if got, whole := u.Unwind(7, registers(u, 0x1100, fp, fp), mem); len(got) != 3 || whole {
		t.Errorf("%x, whole: %v", got, whole)
	}
}

func TestEndedProcessHasOneFrame(t *testing.T) {
	u := jit(t)
	mem, fp := frames(0x1200, 0x1300)
	if got, whole := u.Unwind(8, registers(u, 0x1100, fp, fp), mem); !reflect.DeepEqual(got, []uint64{0x1100}) || whole {
		t.Errorf("got %x, %v", got, whole)
	}
}

// mapping is an unwinder of a made-up machine, whose processes map one library.
type mapping struct {
	*unwind.Unwinder
	t      *testing.T
	root   string // /proc
	lib    string
	before int // descriptors
}

func newMapping(t *testing.T) *mapping {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &mapping{t: t, root: t.TempDir(), lib: filepath.Join(files.LibDir, "libcudart.so.12")}
	m.Unwinder = unwind.New(proc.New(m.root))
	t.Cleanup(m.Close)
	m.before = descriptors(t)
	return m
}

// start adds a process.
func (m *mapping) start(pid int) {
	m.t.Helper()
	dir := filepath.Join(m.root, fmt.Sprint(pid))
	task := filepath.Join(dir, "task", fmt.Sprint(pid))
	line := fmt.Sprintf("10000-90000 r-xp 00000000 fe:00 %d %s\n", inodeOf(m.t, m.lib), m.lib)
	if err := errors.Join(os.MkdirAll(task, 0o755), os.Symlink("/", filepath.Join(dir, "root")),
		os.WriteFile(filepath.Join(dir, "maps"), []byte(line), 0o644),
		os.WriteFile(filepath.Join(task, "comm"), []byte("waker\n"), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

// stack unwinds a stack of a process.
func (m *mapping) stack(pid int) {
	m.Unwind(pid, registers(m.Unwinder, 0x10010, 0x7000, 0), &unwind.Memory{Base: 0x7000, Data: make([]byte, 64)})
}

// expect compares the files that are open.
func (m *mapping) expect(open int, when string) {
	m.t.Helper()
	if n := descriptors(m.t) - m.before; n != open {
		m.t.Errorf("%d files open %s, want %d", n, when, open)
	}
}

func TestFilesAreOpenWhileAKnownProcessMapsThem(t *testing.T) {
	u := newMapping(t)
	u.start(7)
	u.start(8)
	u.stack(7)
	news := u.News(nil)
	if len(news) != 2 || news[0].PID != 7 || len(news[0].Code) != 1 || news[1].File == nil ||
		news[1].Of != news[0].Code[0] {
		t.Fatalf("news: %+v", news)
	}
	if i, err := news[1].File.Stat(); err != nil || i.Name() != filepath.Base(u.lib) {
		t.Errorf("the file is %v, %v", i, err)
	}
	news[1].File.Close()
	u.stack(8)
	if news := u.News(nil); len(news) != 1 || news[0].PID != 8 || len(news[0].Code) != 1 {
		t.Errorf("news of a second process: %+v", news)
	}
	u.expect(1, "after a stack of two processes' library")
	u.Forget(7)
	if news := u.News(nil); len(news) != 1 || news[0].PID != 7 || news[0].Code != nil || news[0].File != nil {
		t.Errorf("news of the end: %+v", news)
	}
	u.expect(1, "while one maps it")
	u.Forget(9)
	u.expect(1, "after a process that is not known")
	u.Forget(8)
	u.expect(0, "when none does")
}

// The end of a process that is not traced is not reported.
func TestFilesOfProcessesThatEndedUnreportedAreClosed(t *testing.T) {
	u := newMapping(t)
	start := func(pid int) {
		u.start(pid)
		u.stack(pid)
		for _, n := range u.News(nil) {
			if n.File != nil {
				n.File.Close()
			}
		}
	}
	recheck := func(times int) {
		for range times {
			u.Recheck()
		}
	}
	of := func(pid int) string { return filepath.Join(u.root, fmt.Sprint(pid)) }
	start(7)
	recheck(5)
	u.expect(1, "while it runs")
	if err := os.RemoveAll(of(7)); err != nil {
		t.Fatal(err)
	}
	recheck(1)
	u.expect(1, "when it has just ended: its last stacks may come")
	recheck(1)
	u.expect(0, "later")

	for pid := 100; pid < 140; pid++ {
		start(pid)
	}
	const executes = 120 // another program, without the library
	for pid := 100; pid < 140; pid++ {
		if pid == executes {
			continue
		}
		if err := os.RemoveAll(of(pid)); err != nil {
			t.Fatal(err)
		}
	}
	other := []byte("1000-2000 r-xp 00000000 00:00 0 \n")
	if err := os.WriteFile(filepath.Join(of(executes), "maps"), other, 0o644); err != nil {
		t.Fatal(err)
	}
	recheck(200)
	u.expect(0, "when of forty 39 have ended and one has it no more")
}

// A stack is often unwound after its process has ended. The mappings that were read before are still
// known, with their files.
func TestStacksOfAProcessThatHasEndedAreWhole(t *testing.T) {
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "7")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o755))
	must(os.Symlink("/", filepath.Join(dir, "root")))
	var lines string
	maps := func(start int, lib string) {
		lines += fmt.Sprintf("%x-%x r-xp 00000000 fe:00 %d %s\n", start, start+0x80000, inodeOf(t, lib), lib)
		must(os.WriteFile(filepath.Join(dir, "maps"), []byte(lines), 0o644))
	}
	u := unwind.New(proc.New(root))
	t.Cleanup(u.Close)
	first, second := filepath.Join(files.LibDir, "libcudart.so.12"), filepath.Join(files.LibDir, "libcuda.so.1")
	maps(0x10000, first)
	u.Learn(7)
	maps(0x100000, second)
	u.Refresh(7)
	u.Refresh(8) // there is no such process
	must(os.RemoveAll(dir))

	u.News(nil)
	for at, lib := range map[uint64]string{0x10010: first, 0x100010: second} {
		u.Unwind(7, registers(u, at, 0x7000, 0), &unwind.Memory{Base: 0x7000, Data: make([]byte, 64)})
		news := u.News(nil)
		if len(news) != 1 || news[0].File == nil || news[0].Of.Path != lib {
			t.Errorf("the tables of %s are not read: %+v", lib, news)
			continue
		}
		news[0].File.Close()
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Ino
}

func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
