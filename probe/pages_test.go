package probe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/probe"
)

// openTracer opens a tracer that ends with the test.
func openTracer(t *testing.T) *probe.Tracer {
	t.Helper()
	kerneltest.Require(t)
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func TestPagesAreCountedForWhoIsGivenThem(t *testing.T) {
	tr := openTracer(t)
	p, err := tr.OpenPages()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Read(1); err != nil { // what came before
		t.Fatal(err)
	}
	const size = 64 << 20
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := exec.Command(exe)
	own.Env = append(os.Environ(), fmt.Sprintf("%s=%d", toucher, size))
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=32M", "count=1")
	if err := other.Run(); err != nil {
		t.Fatal(err)
	}
	list, err := p.Read(2)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]event.PageSum{}
	for _, s := range list {
		seen[s.PID] = s
		if s.At != 2 || s.Bytes != s.Pages*uint64(os.Getpagesize()) || s.NoWaitBytes > s.Bytes || s.Pages > 0 && s.Allocations == 0 {
			t.Errorf("%+v", s)
		}
	}
	// A Go program needs some for itself; dd's buffer may be in large pages.
	mine, dd := seen[uint32(own.Process.Pid)], seen[uint32(other.Process.Pid)]
	if mine.Bytes < size || mine.Bytes > size+16<<20 || mine.Allocations < size/uint64(os.Getpagesize()) || mine.Comm != "probe.test" || mine.Failed != 0 {
		t.Errorf("%+v, of a process that touched %d bytes", mine, size)
	}
	if dd.Bytes < 32<<20 || dd.Bytes > 40<<20 || dd.Comm != "dd" {
		t.Errorf("%+v, of dd with 32 MiB", dd)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(3); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Read(4); err != nil || len(again) != 0 {
		t.Errorf("told again: %+v, %v", again, err)
	}
}

// Those for whom there is no room are counted together.
func TestPagesOfTooManyProcessesAreCounted(t *testing.T) {
	tr := openTracer(t)
	p, err := tr.OpenSmallPages(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		if err := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=8M", "count=1").Run(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := p.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].PID != 0 || list[0].Bytes < 16<<20 {
		t.Errorf("%+v", list)
	}
}

// swapOn makes a device the machine's only place to swap to. The header is that of
// include/linux/swap.h: version 1, its last page, and a name at the end of the page.
func swapOn(t *testing.T, device string, bytes int64) {
	t.Helper()
	page := make([]byte, os.Getpagesize())
	*(*uint32)(unsafe.Pointer(&page[1024])) = 1
	*(*uint32)(unsafe.Pointer(&page[1028])) = uint32(bytes/int64(len(page)) - 1)
	copy(page[len(page)-10:], "SWAPSPACE2")
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(page); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	name, err := unix.BytePtrFromString(device)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
		kerneltest.Lacks(t, "no swapping: "+errno.Error())
	}
	t.Cleanup(func() {
		if _, _, errno := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
			t.Errorf("swapoff: %v", errno)
		}
	})
}

// swapped is what the kernel counts of swapping, in bytes.
func swapped(t *testing.T) (in, out uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		fmt.Sscanf(line, "pswpin %d", &in)
		fmt.Sscanf(line, "pswpout %d", &out)
	}
	return in * uint64(os.Getpagesize()), out * uint64(os.Getpagesize())
}

func TestSwappingIsForTheProcess(t *testing.T) {
	const disk = 128 << 20
	dev, number := loop(t, disk)
	swapOn(t, dev, disk)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr, shell, begin := adoptShell(t, fmt.Sprintf("%s=%d exec %s < <(sleep 0.2; echo; sleep 5)", toucher, 48<<20, exe), probe.Options{})
	limited(t, 24<<20)(shell.Process.Pid)
	in0, out0 := swapped(t)
	began := time.Now()
	begin()
	var r probe.Records
	sums := ended(t, tr, shell, dev, &r)
	in1, out1 := swapped(t)
	var in, out, own uint64
	for _, s := range sums {
		switch {
		case s.Device != number:
		case s.Op == event.OpSwapIn:
			in += s.Bytes
			if int(s.PID) == shell.Process.Pid {
				own += s.Bytes
			}
		case s.Op == event.OpSwapOut:
			out += s.Bytes
		default:
			t.Errorf("%+v", s)
		}
	}
	// The kernel may be about to write what it has counted.
	if in != in1-in0 || in == 0 || own < in*9/10 || out == 0 || out > out1-out0 || out < (out1-out0)*9/10 {
		t.Errorf("%d bytes swapped in, %d of them for the process, and %d out; the kernel counts %d and %d", in, own, out, in1-in0, out1-out0)
	}
	waits := 0
	for _, q := range r.Requests {
		if q.Op == event.OpSwapIn && int(q.PID) == shell.Process.Pid && q.Device == number && q.Duration > 0 && q.Duration < uint64(time.Since(began)) {
			waits++
		}
	}
	if waits == 0 {
		t.Errorf("no request to read memory back was recorded, of %d", len(r.Requests))
	}
}

// Memory is moved together on the thread that asks for it.
func TestCompactionIsRecorded(t *testing.T) {
	const all = "/proc/sys/vm/compact_memory"
	if _, err := os.Stat(filepath.Dir(all)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(all); err != nil {
		kerneltest.Lacks(t, "no compaction: "+err.Error())
	}
	tr, shell, begin := adoptShell(t, "echo 1 > "+all, probe.Options{})
	begin()
	var r probe.Records
	ended(t, tr, shell, "", &r)
	pid := uint32(shell.Process.Pid)
	for _, v := range r.Reclaims {
		if v.PID == pid && v.Kind == event.ReclaimCompaction && v.NS > 0 && v.NS <= v.Duration && v.Parts > 0 {
			return
		}
	}
	t.Errorf("not among %+v", r.Reclaims)
}
