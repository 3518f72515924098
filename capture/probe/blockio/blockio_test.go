package blockio_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/blockio"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestMain(m *testing.M) { probetest.Main(m) }

// diskStat reads what the kernel counts of a block device: requests done and sectors,
// of reads and writes.
func diskStat(t *testing.T, path string) (reads, readSectors, writes, writeSectors uint64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(path), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	var merges, ticks uint64
	if _, err := fmt.Sscan(string(b), &reads, &merges, &readSectors, &ticks, &writes, &merges, &writeSectors); err != nil {
		t.Fatal(err)
	}
	return
}

func TestRequestsAgreeWithTheKernelsCounts(t *testing.T) {
	dev, number := probetest.Loop(t, 32<<20)
	script := fmt.Sprintf("dd if=/dev/zero of=%s bs=64k count=40 seek=3 oflag=direct 2>/dev/null && exec dd if=%[1]s "+
		"of=/dev/null bs=4k count=3000 iflag=direct 2>/dev/null", dev)
	blockio.Record(t, 100) // a second: on a busy machine, requests may come too slowly for more
	tr, shell, begin := probetest.AdoptShell(t, script, probe.Options{})
	r0, rs0, w0, ws0 := diskStat(t, dev)
	began := uint64(time.Now().UnixNano())
	begin()
	var r probe.Records
	sums := probetest.Ended(t, tr, shell, dev, &r)
	until := uint64(time.Now().UnixNano())
	r1, rs1, w1, ws1 := diskStat(t, dev)

	var got [4]uint64 // reads, bytes read, writes, bytes written
	for _, s := range sums {
		if s.Device != number {
			continue
		}
		if s.Errors != 0 || s.MaxNS == 0 || s.MaxNS > s.QueueNS+s.DeviceNS || s.At > until || s.At+2_000_000_000 < began {
			t.Errorf("sum %+v", s)
		}
		switch {
		case s.Op == event.OpBlockRead && s.Comm == "dd" && int(s.PID) == shell.Process.Pid:
			got[0] += s.Requests
			got[1] += s.Bytes
		case s.Op == event.OpBlockWrite && s.Comm == "dd":
			got[2] += s.Requests
			got[3] += s.Bytes
		default:
			t.Errorf("%s by %s (%d)", s.Op, s.Comm, s.PID)
		}
	}
	lost, err := tr.Losses()
	if err != nil {
		t.Fatal(err)
	}
	// The kernel does not report each completion. Missing ones are counted.
	reads, writes := 3000-min(got[0], 3000), 40-min(got[2], 40)
	missing := reads + writes
	if missing > lost[event.LostRequest] {
		t.Errorf("%d requests are missing, %d counted", missing, lost[event.LostRequest])
	}
	got = [4]uint64{got[0] + reads, got[1] + reads*4096, got[2] + writes, got[3] + writes*65536}
	if want := [4]uint64{r1 - r0, (rs1 - rs0) * 512, w1 - w0, (ws1 - ws0) * 512}; got != want || want[3] != 40*65536 ||
		want[1] != 3000*4096 {
		t.Errorf("reads, bytes, writes, bytes %v, with %d missing; the kernel counts %v", got, missing, want)
	}
	sector, rows := uint64(3*128), uint64(0)
	for _, q := range r.Requests {
		if q.Device != number {
			continue
		}
		rows++
		if q.Start < began || q.End() > until || q.Queue > q.Duration || q.Duration == 0 || q.Error != 0 || q.By != 0 ||
			q.Inode != 0 || q.Comm != "dd" {
			t.Fatalf("request %+v", q)
		}
		if q.Op == event.OpBlockWrite {
			for writes > 0 && q.Sector != sector { // that one is missing
				writes--
				sector += 128
			}
			if q.Sector != sector || q.Flags&event.RequestSync == 0 {
				t.Fatalf("write of sector %d with flags %s, want sector %d", q.Sector, q.Flags, sector)
			}
			sector += uint64(q.Bytes) / 512
		}
	}
	if sector+writes*128 != 43*128 {
		t.Errorf("the last write ended at sector %d", sector)
	}
	if n := rows + lost[event.LostRequestThinned]; n != got[0]+got[2]-missing || lost[event.LostRequestThinned] == 0 {
		t.Errorf("%d requests recorded and %d left out, of %d; %d lost", rows, lost[event.LostRequestThinned],
			got[0]+got[2]-missing, lost[event.LostRequest])
	}
}

func TestWritebackIsAttributedToTheWriter(t *testing.T) {
	dev, number := probetest.Loop(t, 32<<20)
	if out, err := exec.Command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0",
		dev).CombinedOutput(); err != nil {
		kerneltest.Lacks(t, "mkfs.ext4: "+string(out)+err.Error())
	}
	dir := t.TempDir()
	if err := unix.Mount(dev, dir, "ext4", 0, ""); err != nil {
		kerneltest.Lacks(t, "mount ext4: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, 0) })
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() // before the file system is unmounted

	file := filepath.Join(dir, "written")
	tr, shell, begin := probetest.AdoptShell(t,
		fmt.Sprintf("dd if=/dev/zero of=%s bs=4k count=512 2>/dev/null; exec sleep 0.3", file), probe.Options{})
	begin()
	var st syscall.Stat_t
	for end := time.Now().Add(5 * time.Second); st.Size < 2<<20 &&
		time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_ = syscall.Stat(file, &st) // not yet there
	}
	if err := unix.Syncfs(int(d.Fd())); err != nil { // has the kernel's threads write
		t.Fatal(err)
	}
	var r probe.Records
	sums := probetest.Ended(t, tr, shell, dev, &r)
	var bytes, kernel uint64
	for _, s := range sums {
		switch {
		case s.Device != number || s.Op != event.OpBlockWrite:
		case s.Comm == "dd":
			bytes += s.Bytes
		case strings.HasPrefix(s.Comm, "jbd2") || strings.HasPrefix(s.Comm, "kworker"):
			kernel += s.Requests
		}
	}
	if bytes < 2<<20 {
		t.Errorf("%d bytes were written for dd, want at least 2 MiB: %+v", bytes, sums)
	}
	var mine int
	for _, q := range r.Requests {
		switch {
		case q.Device != number:
		case q.Comm == "dd" && q.Op == event.OpBlockWrite:
			mine++
			if q.Inode != st.Ino || q.By == 0 || q.By == q.TID || int(q.PID) == shell.Process.Pid {
				t.Errorf("written back: %+v, inode %d", q, st.Ino)
			}
		case q.Comm != "dd" && q.Duration < 10e6:
			t.Errorf("a request of the kernel's own that was not slow: %+v", q)
		}
	}
	if mine == 0 || kernel == 0 {
		t.Errorf("%d requests for dd and %d of the kernel's own", mine, kernel)
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

func TestSwappingIsAttributedToTheProcess(t *testing.T) {
	const disk = 128 << 20
	dev, number := probetest.Loop(t, disk)
	swapOn(t, dev, disk)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr, shell, begin := probetest.AdoptShell(t,
		fmt.Sprintf("%s=%d exec %s < <(sleep 0.2; echo; sleep 5)", probetest.Toucher, 48<<20, exe), probe.Options{})
	probetest.Limited(t, 24<<20)(shell.Process.Pid)
	in0, out0 := swapped(t)
	began := time.Now()
	begin()
	var r probe.Records
	probetest.Waited(t, shell, dev)
	least, _ := swapped(t)
	probetest.Idle(t, dev) // the kernel counts a request when it is made; another process may just have made one
	sums := probetest.Rest(t, tr, &r)
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
	// The kernel counts for the whole machine: another process may read a page back while the recording ends. And it may
	// be about to write what it has counted.
	if in < least-in0 || in > in1-in0 || in == 0 || own < in*9/10 || out == 0 || out > out1-out0 ||
		out < (out1-out0)*9/10 {
		t.Errorf("%d bytes swapped in, %d of them for the process, and %d out; the kernel counts %d and %d", in, own, out,
			in1-in0, out1-out0)
	}
	waits := 0
	for _, q := range r.Requests {
		if q.Op == event.OpSwapIn && int(q.PID) == shell.Process.Pid && q.Device == number && q.Duration > 0 &&
			q.Duration < uint64(time.Since(began)) {
			waits++
		}
	}
	if waits == 0 {
		t.Errorf("no request to read memory back was recorded, of %d", len(r.Requests))
	}
}
