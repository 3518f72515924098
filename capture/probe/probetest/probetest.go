// Package probetest has what tests of several kernel probes need: a tracer that follows a shell, block
// devices, limits of memory, and a program that touches memory or a file.
package probetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// Open opens a tracer that ends with the test.
func Open(t *testing.T, opts probe.Options) *probe.Tracer {
	t.Helper()
	kerneltest.Require(t)
	tr, err := probe.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// AdoptShell opens a tracer and has it adopt a child: a shell that runs the script when a line comes.
func AdoptShell(t *testing.T, script string, opts probe.Options) (tr *probe.Tracer, shell *exec.Cmd, begin func()) {
	t.Helper()
	tr = Open(t, opts)
	shell = exec.Command("bash", "-c", "read line; "+script)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.Stderr = os.Stderr
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shell.Process.Kill()
		_ = shell.Wait() // the test may have waited already
	})
	if err := tr.Adopt(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return tr, shell, func() { fmt.Fprintln(in) }
}

// Drained collects records until enough says so or ten seconds have passed.
func Drained(t *testing.T, tr *probe.Tracer, enough func(*probe.Records) bool) *probe.Records {
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

// Ended waits for the shell and, if there is one, a device, ends the tracer's watch and returns the rest of
// what was recorded, appended to r, and all sums.
func Ended(t *testing.T, tr *probe.Tracer, shell *exec.Cmd, dev string, r *probe.Records) []event.RequestSum {
	t.Helper()
	Waited(t, shell, dev)
	return Rest(t, tr, r)
}

// Waited waits for the shell and, if there is one, a device.
func Waited(t *testing.T, shell *exec.Cmd, dev string) {
	t.Helper()
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	if dev != "" {
		Idle(t, dev)
	}
}

// Rest ends the tracer's watch and returns the rest of what was recorded, appended to r, and all sums.
func Rest(t *testing.T, tr *probe.Tracer, r *probe.Records) []event.RequestSum {
	t.Helper()
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

// Idle waits until a device has done all that was asked of it: a process that ends does
// not wait for what was read ahead for it.
func Idle(t *testing.T, dev string) {
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

// Limited makes a memory control group with the limit in bytes.
func Limited(t *testing.T, bytes int) (join func(pid int)) {
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

// Loop makes a block device of a file, which nobody else uses.
func Loop(t *testing.T, bytes int64) (path string, device event.Device) {
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
