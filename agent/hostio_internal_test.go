package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A program that loads large libraries waits for hundreds of mapped files in a second. Its mappings
// are read only now and then for all of them, its open files at once.
func TestMappedFilesAreLookedForTogether(t *testing.T) {
	pid := uint32(os.Getpid())
	dir := t.TempDir()
	mapped := func(name string) (path string, inode uint64, f *os.File) {
		t.Helper()
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var st syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(m); f.Close() })
		return path, st.Ino, f
	}
	h := newHostIO(proc.New(""))
	drain := func(now time.Time, inode uint64) (names map[uint64]string) {
		r := &probe.Records{}
		if inode != 0 {
			r.OffCPU = []event.OffCPU{{Class: event.BlockIO, Thread: event.Thread{PID: pid, TID: pid}, Inode: inode}}
		}
		h.observe(r, nil, now)
		var b store.Batch
		h.take(&b)
		names = map[uint64]string{}
		for _, f := range b.Files {
			names[f.Inode] = f.Path
		}
		return names
	}
	a, inodeA, fileA := mapped("a")
	b, inodeB, fileB := mapped("b")
	c, inodeC, _ := mapped("c")
	fileA.Close()
	fileB.Close()
	begin := time.Unix(1, 0)
	if got := drain(begin, inodeA); got[inodeA] != a {
		t.Errorf("the first mapped file is not found at once: %v, want %s", got, a)
	}
	if got := drain(begin.Add(refreshEach/2), inodeB); len(got) != 0 {
		t.Errorf("the mappings were read again after %v: %v", refreshEach/2, got)
	}
	if got := drain(begin.Add(refreshEach*3/4), inodeC); len(got) != 1 || got[inodeC] != c {
		t.Errorf("an open file is not found at once: %v, want %s", got, c)
	}
	if got := drain(begin.Add(refreshEach), 0); len(got) != 1 || got[inodeB] != b {
		t.Errorf("the second mapped file is not found: %v, want %s", got, b)
	}
	if got := drain(begin.Add(2*refreshEach), inodeB); len(got) != 0 {
		t.Errorf("a file that is known is looked for again: %v", got)
	}
	h.forget(pid)
	if len(h.mapped)+len(h.read)+len(h.asked) != 0 {
		t.Error("something is kept of a process that ended")
	}
}

// A peer far away can make TCP send again as often as it likes, on connections whose owner is not known. Owners are
// looked for now and then, among a bounded number of descriptors.
func TestOwnersOfSocketsAreLookedForNowAndThen(t *testing.T) {
	t.Parallel()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	var st unix.Stat_t
	if err := unix.Fstat(socket, &st); err != nil {
		t.Fatal(err)
	}
	self, now := os.Getpid(), time.Now()
	h := newHostIO(proc.New(""))
	traced := map[int]bool{self: true, 1 << 30: true}
	owner := func(inode uint64) uint32 {
		list := []event.Connection{{Inode: inode}}
		h.ownConnections(list, traced, now)
		return list[0].PID
	}
	if owner(1); h.owners != now {
		t.Fatal("nobody was looked at")
	}
	if got := owner(st.Ino); got != 0 {
		t.Errorf("they were looked at again at once: %d", got)
	}
	now = now.Add(ownersEach)
	if got := owner(st.Ino); got != uint32(self) {
		t.Errorf("the owner is %d, not %d", got, self)
	}
	begin := h.owners
	now = now.Add(ownersEach)
	if owner(1); h.owners != begin {
		t.Error("a socket of which nobody was found is looked for again at once")
	}
	now = now.Add(ownerUnknown)
	if owner(1); h.owners != now {
		t.Error("a socket of which nobody was found is not looked for again")
	}
	if open, looked := h.fs.Sockets(self, map[uint64]bool{st.Ino: true}, 2); looked != 2 || len(open) > 1 {
		t.Errorf("%d descriptors were looked at, not 2", looked)
	}
}
