package probe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/probe"
)

// loop makes a block device of a file, which nobody else uses.
func loop(t *testing.T, bytes int64) (path string, device event.Device) {
	t.Helper()
	kerneltest.Require(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(bytes); err != nil {
		t.Fatal(err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		kerneltest.Lacks(t, "no loop devices: "+err.Error())
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		kerneltest.Lacks(t, "no free loop device: "+err.Error())
	}
	path = fmt.Sprintf("/dev/loop%d", n)
	dev, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		kerneltest.Lacks(t, "loop device cannot be opened: "+err.Error())
	}
	if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_SET_FD, int(f.Fd())); err != nil {
		dev.Close()
		t.Fatalf("set up %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
			t.Errorf("release %s: %v", path, err)
		}
		dev.Close()
	})
	var st syscall.Stat_t
	if err := syscall.Fstat(int(dev.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return path, event.Device(unix.Major(st.Rdev)<<20 | unix.Minor(st.Rdev))
}

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

// done waits until a device has done all that was asked of it: a process that ends does
// not wait for what was read ahead for it.
func done(t *testing.T, dev string) {
	t.Helper()
	for range 1000 {
		b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(dev), "inflight"))
		if err != nil {
			t.Fatal(err)
		}
		var reads, writes int
		if _, err := fmt.Sscan(string(b), &reads, &writes); err != nil {
			t.Fatal(err)
		}
		if reads+writes == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s still works after ten seconds", dev)
}

// ended waits for the shell and, if there is one, a device, ends the tracer's watch and returns the rest of
// what was recorded, appended to r, and all sums.
func ended(t *testing.T, tr *probe.Tracer, shell *exec.Cmd, dev string, r *probe.Records) []event.RequestSum {
	t.Helper()
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	if dev != "" {
		done(t, dev)
	}
	if err := tr.DetachAll(); err != nil {
		t.Fatal(err)
	}
	tr.Drain(r, 1<<30)
	sums, err := tr.Requests(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Malformed != 0 {
		t.Errorf("%d malformed records", r.Malformed)
	}
	return sums
}

func TestRequestsAgreeWithTheKernelsCounts(t *testing.T) {
	dev, number := loop(t, 32<<20)
	script := fmt.Sprintf("dd if=/dev/zero of=%s bs=64k count=40 seek=3 oflag=direct 2>/dev/null && exec dd if=%[1]s of=/dev/null bs=4k count=3000 iflag=direct 2>/dev/null", dev)
	tr, shell, begin := adoptShell(t, script, probe.Options{})
	r0, rs0, w0, ws0 := diskStat(t, dev)
	began := uint64(time.Now().UnixNano())
	begin()
	var r probe.Records
	sums := ended(t, tr, shell, dev, &r)
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
	// The kernel does not tell of each completion: that is told.
	reads, writes := 3000-min(got[0], 3000), 40-min(got[2], 40)
	missing := reads + writes
	if missing > lost[event.LostRequest] {
		t.Errorf("%d requests are missing, %d told", missing, lost[event.LostRequest])
	}
	got = [4]uint64{got[0] + reads, got[1] + reads*4096, got[2] + writes, got[3] + writes*65536}
	if want := [4]uint64{r1 - r0, (rs1 - rs0) * 512, w1 - w0, (ws1 - ws0) * 512}; got != want || want[3] != 40*65536 || want[1] != 3000*4096 {
		t.Errorf("reads, bytes, writes, bytes %v, with %d missing; the kernel counts %v", got, missing, want)
	}
	sector, rows := uint64(3*128), uint64(0)
	for _, q := range r.Requests {
		if q.Device != number {
			continue
		}
		rows++
		if q.Start < began || q.End() > until || q.Queue > q.Duration || q.Duration == 0 || q.Error != 0 || q.By != 0 || q.Inode != 0 || q.Comm != "dd" {
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
		t.Errorf("%d requests recorded and %d left out, of %d; %d lost", rows, lost[event.LostRequestThinned], got[0]+got[2]-missing, lost[event.LostRequest])
	}
}

func TestWritebackIsForWhoWroteTheFile(t *testing.T) {
	dev, number := loop(t, 32<<20)
	if out, err := exec.Command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", dev).CombinedOutput(); err != nil {
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
	tr, shell, begin := adoptShell(t, fmt.Sprintf("dd if=/dev/zero of=%s bs=4k count=512 2>/dev/null; exec sleep 0.3", file), probe.Options{})
	begin()
	var st syscall.Stat_t
	for end := time.Now().Add(5 * time.Second); st.Size < 2<<20 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_ = syscall.Stat(file, &st) // not yet there
	}
	if err := unix.Syncfs(int(d.Fd())); err != nil { // has the kernel's threads write
		t.Fatal(err)
	}
	var r probe.Records
	sums := ended(t, tr, shell, dev, &r)
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

// Nobody reads while so many are born and end that their ring fills: those that the
// kernel ends are told all the same.
func TestProcessesEndedForLackOfMemoryAreTold(t *testing.T) {
	tr, shell, begin := adoptShell(t, "for ((i = 0; i < 2200; i++)); do (:); done; exec tail /dev/zero", probe.Options{})
	limited(t, 16<<20)(shell.Process.Pid)
	begin()
	pid := uint32(shell.Process.Pid)
	shell.Wait()
	if n, err := tr.Losses(); err != nil || n[event.LostLife] == 0 {
		t.Errorf("%d births and ends were lost, %v: the ring was not full", n[event.LostLife], err)
	}
	var l event.Life
	drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.Lives {
			if v.Kind == event.LifeOOM && v.PID == pid {
				l = v
			}
		}
		return l.At != 0
	})
	if l.Comm != "tail" || l.TID != pid || l.Op.String() != "oom_kill" || l.Parent.PID != pid || time.Since(time.Unix(0, int64(l.At))) > time.Minute {
		t.Errorf("told as %+v", l)
	}
}
