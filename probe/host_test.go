package probe_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/probe"
)

// adoptShell opens a tracer and has it adopt a child: a shell that runs the script when a line comes.
func adoptShell(t *testing.T, script string, opts probe.Options) (tr *probe.Tracer, shell *exec.Cmd, begin func()) {
	t.Helper()
	kerneltest.Require(t)
	tr, err := probe.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	shell = exec.Command("bash", "-c", "read line; "+script)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.Stderr = os.Stderr
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shell.Process.Kill(); shell.Wait() })
	if err := tr.Adopt(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return tr, shell, func() { fmt.Fprintln(in) }
}

// drained collects records until enough says so or ten seconds have passed.
func drained(t *testing.T, tr *probe.Tracer, enough func(*probe.Records) bool) *probe.Records {
	t.Helper()
	var r probe.Records
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		tr.Drain(&r, 1<<30)
		if enough(&r) {
			return &r
		}
	}
	kinds := map[event.Class]int{}
	for _, o := range r.OffCPU {
		kinds[o.Class]++
	}
	lost, err := tr.Losses()
	t.Fatalf("not seen in intervals %v and %d reclaims; lost %v, %v", kinds, len(r.Reclaims), lost, err)
	return nil
}

// limited makes a memory control group with the limit in bytes.
func limited(t *testing.T, bytes int) (join func(pid int)) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("ingero-test-%d", os.Getpid()))
	limit := "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil { // version 2
		dir, limit = filepath.Join("/sys/fs/cgroup", filepath.Base(dir)), "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("SKIPPED: no memory control group can be made: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, limit), []byte(fmt.Sprint(bytes)), 0o644); err != nil {
		t.Skipf("SKIPPED: no memory limit can be set: %v", err)
	}
	return func(pid int) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReclaimUnderALimitIsRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big")
	tr, shell, begin := adoptShell(t, fmt.Sprintf("exec dd if=/dev/zero of=%s bs=1M count=200 2>/dev/null", file), probe.Options{})
	limited(t, 16<<20)(shell.Process.Pid)
	begin()
	pid := uint32(shell.Process.Pid)
	r := drained(t, tr, func(r *probe.Records) bool { return len(r.Reclaims) >= 3 })
	for _, v := range r.Reclaims {
		if v.PID != pid || v.Kind != event.ReclaimCgroup || v.NS > v.Duration || v.NS == 0 || v.Parts == 0 {
			t.Errorf("reclaim %+v of process %d", v, pid)
		}
	}
	shell.Wait()
}

func TestSocketsOfWaitsAreRecorded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // what the other end waits for
			fmt.Fprintln(c, "answer")
			c.Close()
		}
	}()
	tr, shell, begin := adoptShell(t, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; read a <&3; sleep 10", port), probe.Options{})
	begin()
	pid := uint32(shell.Process.Pid)
	var o event.OffCPU
	drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.OffCPU {
			if v.PID == pid && v.Class == event.Network && v.Socket.Kind != 0 {
				o = v
				return true
			}
		}
		return false
	})
	serves, known := o.Socket.Serves()
	if want := fmt.Sprintf("127.0.0.1:%d", port); o.Socket.Endpoint() != want || o.Socket.Kind != event.SocketTCP || o.Inode == 0 || serves && known {
		t.Errorf("socket %+v, inode %d, other end %s; want %s", o.Socket, o.Inode, o.Socket.Endpoint(), want)
	}
}

// toucher makes the test binary read every page of the file it names from the disk,
// for eight seconds, once a line has come; or touch each page of memory of its own,
// twice, if it is a number of bytes.
const toucher = "INGERO_TEST_TOUCH"

func TestMain(m *testing.M) {
	if path := os.Getenv(toucher); path != "" {
		work := touch
		if bytes, err := strconv.Atoi(path); err == nil {
			work = func(string) error { return touchOwn(bytes) }
		}
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// touchOwn writes to each page of memory of its own, and reads them all back.
func touchOwn(bytes int) error {
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
		return err
	}
	fmt.Scanln()
	sum := 0
	for n := 0; n < len(m); n += os.Getpagesize() {
		m[n] = byte(n >> 12)
	}
	for n := 0; n < len(m); n += os.Getpagesize() {
		sum += int(m[n])
	}
	fmt.Println(sum)
	return nil
}

// cached is how many pages of a mapping are in the kernel's page cache.
func cached(m []byte) (pages int, err error) {
	in := make([]byte, len(m)/os.Getpagesize())
	_, _, no := unix.Syscall(unix.SYS_MINCORE,
		uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0])))
	if no != 0 {
		return 0, no
	}
	for _, v := range in {
		pages += int(v & 1)
	}
	return pages, nil
}

// touch reads every page of a file through a mapping, each time from the disk.
func touch(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(i.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_RANDOM); err != nil { // no reading ahead: a wait a page
		return err
	}
	fmt.Scanln()
	sum := 0
	// Again and again: where a read is over before its reader sleeps, as on a virtual
	// machine's disk that its host has in memory, hardly a page is waited for.
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); {
		if err := evict(f, m); err != nil {
			return err
		}
		for n := 0; n < len(m); n += os.Getpagesize() {
			sum += int(m[n])
		}
	}
	fmt.Println(sum)
	return nil
}

// evict drops a file, of which m is a mapping, from the page cache. The kernel may
// keep pages that it is asked to drop, while somebody else has hold of them.
func evict(f *os.File, m []byte) error {
	for tries := 0; ; tries++ {
		// A page that is mapped stays.
		if err := unix.Madvise(m, unix.MADV_DONTNEED); err != nil {
			return err
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		in, err := cached(m)
		if err != nil || in == 0 {
			return err
		}
		if tries == 100 {
			return fmt.Errorf("%d pages of %s stay in the page cache", in, f.Name())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestPagesOfMappedFilesAreBlockIO(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mapped")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 256*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	tr, shell, begin := adoptShell(t, fmt.Sprintf("%s=%s exec %s < <(sleep 0.3; echo; sleep 5)", toucher, file, exe), probe.Options{OffMin: time.Microsecond})
	begin()
	pid := uint32(shell.Process.Pid)
	r := drained(t, tr, func(r *probe.Records) bool {
		n := 0
		for _, o := range r.OffCPU {
			if o.PID == pid && o.Class == event.BlockIO && o.Syscall < 0 && len(o.Kernel) > 0 {
				n++
			}
		}
		return n >= 10
	})
	lost, err := tr.Losses()
	if err != nil {
		t.Fatal(err)
	}
	// The kernel does not report each switch, and a rebuilt interval has no stack.
	without := uint64(0)
	for _, o := range r.OffCPU {
		if o.PID == pid && o.Class == event.BlockIO && o.Syscall < 0 && len(o.Kernel) == 0 {
			without++
		}
	}
	if without > lost[event.LostHealed] {
		t.Errorf("%d page-ins without a kernel stack, %d intervals rebuilt", without, lost[event.LostHealed])
	}
}
