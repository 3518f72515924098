package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestWhatAProcessThatWaitsHasOpenAndIsIn(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{w}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	f, pid := proc.New(""), child.Process.Pid
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if !f.Opened(pid, name, true) || f.Opened(pid, name, false) || f.Opened(pid, "pipe:[1]", true) {
		t.Errorf("%s is open for writing alone", name)
	}
	// Without any this kernel has no such list.
	if list := f.Children(os.Getpid()); len(list) > 0 && !slices.Contains(list, pid) {
		t.Errorf("children %v, want %d among them", list, pid)
	}
	asleep := func() bool {
		nr, args, ok := f.Syscall(pid, pid)
		return ok && (nr == unix.SYS_CLOCK_NANOSLEEP || nr == unix.SYS_NANOSLEEP) && args != [6]uint64{}
	}
	for end := time.Now().Add(20 * time.Second); !asleep(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is in no system call that sleeps")
		}
	}
}

func TestSystemCallsThatCannotBeReadAreNone(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"1/task/1/syscall": "running\n", "1/task/2/syscall": "-1 0x7ffe 0x7f\n", "1/task/3/syscall": "",
		"1/task/4/syscall": "202 0x1 0x80 nonsense 0x0 0x0 0x0 0x7ffe 0x7f\n",
		"1/task/5/syscall": "202 0x1 0x80 0x2 0x0 0x0 0x5 0x7ffe 0x7f\n",
	})
	for tid := 1; tid <= 6; tid++ {
		nr, args, ok := f.Syscall(1, tid)
		if ok != (tid == 5) || ok && (nr != 202 || args != [6]uint64{1, 0x80, 2, 0, 0, 5}) {
			t.Errorf("thread %d: %d %v %t", tid, nr, args, ok)
		}
	}
}

func TestWhatAThreadPolls(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	polled := make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		polled <- unix.Gettid()
		fds := []unix.PollFd{
			{Fd: int32(w.Fd())}, {Fd: -1, Events: unix.POLLIN}, {Fd: int32(r.Fd()), Events: unix.POLLIN},
		}
		_, _ = unix.Poll(fds, 30_000)
		polled <- 0
	}()
	f, tid := proc.New(""), <-polled
	for end := time.Now().Add(20 * time.Second); !slices.Equal(f.Polled(os.Getpid(), tid), []string{name}); {
		if time.Now().After(end) {
			t.Fatalf("it polls %v, want %s", f.Polled(os.Getpid(), tid), name)
		}
		time.Sleep(time.Millisecond) // nothing tells when another thread is in its system call
	}
	if list := f.Polled(os.Getpid(), unix.Gettid()); len(list) != 0 {
		t.Errorf("this thread polls %v", list)
	}
	if _, err := w.WriteString("end"); err != nil {
		t.Fatal(err)
	}
	<-polled
}
