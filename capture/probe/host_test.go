package probe_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestMain(m *testing.M) { probetest.Main(m) }

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
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; read a <&3; sleep 10", port),
		probe.Options{})
	begin()
	pid := uint32(shell.Process.Pid)
	var o event.OffCPU
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.OffCPU {
			if v.PID == pid && v.Class == event.Network && v.Socket.Kind != 0 {
				o = v
				return true
			}
		}
		return false
	})
	serves, known := o.Socket.Serves()
	if want := fmt.Sprintf("127.0.0.1:%d", port); o.Socket.Endpoint() != want || o.Socket.Kind != event.SocketTCP ||
		o.Inode == 0 || serves && known {
		t.Errorf("socket %+v, inode %d, other end %s; want %s", o.Socket, o.Inode, o.Socket.Endpoint(), want)
	}
}

// Records of threads that are not traced say when their process began, as /proc does.
func TestRecordsHaveTheStartOfTheProcess(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	// Both loops compete for one CPU; the other one is not the tracer's. Then the shell waits for a word of the test.
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("taskset -pc 0 $$ >/dev/null; "+
		"exec 3</proc/%d/fd/%d; (while kill -0 $$; do :; done) & "+
		"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; while :; do read a <&3; done", os.Getpid(), r.Fd()),
		probe.Options{})
	begin()
	pid := uint32(shell.Process.Pid)
	fs := proc.New("/proc")
	is := func(what string, pid uint32, born uint64) {
		t.Helper()
		const tick = 10_000_000 // ns, of /proc/PID/stat
		if want, err := fs.StartTime(int(pid)); err == nil && born/tick != want {
			t.Errorf("the %s's process %d began at %d ns, by /proc at tick %d", what, pid, born, want)
		}
	}
	var culprit, waker, total bool
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		fmt.Fprintln(w, "word")
		for _, o := range r.OffCPU {
			for _, c := range o.Culprits {
				culprit = culprit || o.PID == pid && c.PID != pid
				is("culprit", c.PID, c.Born)
			}
			if o.PID == pid && o.Waker.PID == uint32(os.Getpid()) {
				waker = true
				is("waker", o.Waker.PID, o.WakerBorn)
			}
		}
		for _, v := range r.ThreadTimes {
			total = true
			is("thread", v.PID, v.Born)
		}
		return culprit && waker && total
	})
}

// Totals say how much of a thread's time on a CPU was in the kernel.
func TestTotalsHaveTheTimeInTheKernel(t *testing.T) {
	tr, shell, begin := probetest.AdoptShell(t,
		"i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; dd if=/dev/zero of=/dev/null bs=1 count=4000000 2>/dev/null; sleep 1",
		probe.Options{})
	begin()
	pid := uint32(shell.Process.Pid)
	shares := map[string]float64{} // of threads' time, by name
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.ThreadTimes {
			if v.Runtime > 300e6 && (v.PID == pid || v.Comm == "dd") {
				shares[v.Comm] = float64(v.Kernel) / float64(v.Runtime)
			}
		}
		return len(shares) == 2
	})
	if shares["bash"] > 0.3 || shares["dd"] < 0.4 { // dd makes two system calls for each byte
		t.Errorf("shares of time in the kernel: %v", shares)
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
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("%s=%s exec %s < <(sleep 0.3; echo; sleep 5)",
		probetest.Toucher, file, exe), probe.Options{OffMin: time.Microsecond})
	begin()
	pid := uint32(shell.Process.Pid)
	r := probetest.Drained(t, tr, func(r *probe.Records) bool {
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

// A thread that is stopped waits for who lets it go on, and for no page, although it is in no system call.
func TestStoppedThreadsAreInNoPageFault(t *testing.T) {
	tr, shell, begin := probetest.AdoptShell(t, "while :; do :; done", probe.Options{})
	begin()
	pid := shell.Process.Pid
	r := probetest.Drained(t, tr, func(r *probe.Records) bool {
		for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
			if err := unix.Kill(pid, s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond) // the time that it is stopped
		}
		return len(stopsOf(r, pid)) >= 5
	})
	for _, o := range stopsOf(r, pid) {
		if o.Class != event.Other {
			t.Errorf("stopped, in system call %d: class %s", o.Syscall, o.Class)
		}
	}
}

// stopsOf are the waits of a process in which it was stopped: TASK_STOPPED of include/linux/sched.h.
func stopsOf(r *probe.Records, pid int) (list []event.OffCPU) {
	for _, o := range r.OffCPU {
		if o.PID == uint32(pid) && o.State == 4 {
			list = append(list, o)
		}
	}
	return list
}

// A program that is frozen by its control group, as docker pause does, waits until somebody thaws it: it is in no page
// fault, and has all the CPUs that it may use.
func TestFrozenThreadsWaitForWhoThawsThem(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		kerneltest.Lacks(t, "no control groups of version 2: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	tr, shell, begin := probetest.AdoptShell(t, "while :; do :; done", probe.Options{})
	dir := filepath.Join(root, fmt.Sprintf("ingero-freeze-%d", os.Getpid()))
	write := func(name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		kerneltest.Lacks(t, err.Error())
	}
	t.Cleanup(func() {
		shell.Process.Kill()
		shell.Wait()
		for range 1000 { // until it is empty
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("the control group stays")
	})
	pid := shell.Process.Pid
	write("cgroup.procs", fmt.Sprint(pid))
	begin()
	const frozen = 20 * time.Millisecond
	long := func(r *probe.Records) (list []event.OffCPU) {
		for _, o := range r.OffCPU {
			if int(o.PID) == pid && o.Syscall < 0 && o.Duration-o.RunQueue >= uint64(frozen) {
				list = append(list, o)
			}
		}
		return list
	}
	r := probetest.Drained(t, tr, func(r *probe.Records) bool {
		write("cgroup.freeze", "1")
		time.Sleep(frozen + 5*time.Millisecond)
		write("cgroup.freeze", "0")
		time.Sleep(5 * time.Millisecond)
		return len(long(r)) >= 5
	})
	for _, o := range long(r) {
		if o.Class != event.Other || o.Waker.PID != uint32(os.Getpid()) {
			t.Errorf("class %s, state %d, system call %d, woken by %v", o.Class, o.State, o.Syscall, o.Waker)
		}
	}
}

// Who has ended waits for no CPU. While somebody is counted as waiting, each switch of the machine costs more.
func TestWhoHasEndedWaitsForNoCPU(t *testing.T) {
	tr, _, begin := probetest.AdoptShell(t, "for i in $(seq 50); do (:); done; exec sleep 10", probe.Options{})
	begin()
	ends := 0
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		ends = 0
		for _, l := range r.Lives {
			if l.Kind == event.LifeExit {
				ends++
			}
		}
		return ends >= 50
	})
	var waiting uint64
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if waiting, err = tr.WaitingForCPU(); err != nil {
			t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
	}
	t.Errorf("%d of those that ended, and of the one that sleeps, are counted as waiting", waiting)
}
