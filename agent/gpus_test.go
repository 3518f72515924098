package agent

import (
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// A machine without the library, as a host is whose drivers are for containers only,
// reads GPUs by the library that a process uses.
func TestTheLibraryOfAProcessIsUsed(t *testing.T) {
	t.Parallel()
	lib, err := cudastub.ExtractNVML(t.TempDir(), "gpus=1", "temp=77")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"LD_PRELOAD=" + lib.Path}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	g := newGPUs(nvml.Options{Dirs: []string{t.TempDir()}, Only: true, Period: 20 * time.Millisecond, Pause: time.Hour}, "")
	t.Cleanup(g.close)
	var b store.Batch
	for end := time.Now().Add(20 * time.Second); len(b.GPUs) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no reading; %+v", g.reader.State())
		}
		g.running(map[int]bool{cmd.Process.Pid: true, 1 << 30: true}, proc.New("")) // once it has mapped the library
		g.take(&b, func(uint32) {})
	}
	if b.GPUs[0].TempC != 77 || len(b.GPUDevices) != 1 {
		t.Errorf("%+v", b)
	}
}

// A library that only a container has is not loaded: what a container brings would run outside of it.
func TestTheLibraryOfAContainerIsNotUsed(t *testing.T) {
	t.Parallel()
	kerneltest.Require(t) // root
	dir, there := t.TempDir(), t.TempDir()
	lib, err := cudastub.ExtractNVML(dir, "gpus=1")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(there, filepath.Base(lib.Path))
	cmd := exec.Command("sh", "-c", fmt.Sprintf("mount -t tmpfs none %s && cp %s %s && LD_PRELOAD=%s exec sleep 60",
		there, lib.Path, path, path))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		kerneltest.Lacks(t, err.Error())
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	g := newGPUs(nvml.Options{Dirs: []string{t.TempDir()}, Only: true, Period: 20 * time.Millisecond, Pause: time.Hour}, "")
	t.Cleanup(g.close)
	fs := proc.New("")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never mapped its library")
		}
		list, _ := fs.Maps(cmd.Process.Pid) // it may not have begun
		if slices.ContainsFunc(list, func(m proc.Mapping) bool { return m.Exec && m.Path == path }) {
			break
		}
	}
	g.running(map[int]bool{cmd.Process.Pid: true}, fs)
	time.Sleep(200 * time.Millisecond) // in which it would be loaded
	var b store.Batch
	if g.take(&b, func(uint32) {}); len(b.GPUs) > 0 || g.reader.State().Library != "" {
		t.Errorf("it was used: %+v, %+v", g.reader.State(), b)
	}
}

// The process that reads GPUs is a part of the tracer: what it uses is the tracer's use.
func TestTheGPUReadersCPUTimeIsTheTracers(t *testing.T) {
	t.Parallel()
	o := newOwnUse(slog.New(slog.DiscardHandler))
	f := o.follower()
	at := func(reader time.Duration) float64 {
		s := second{now: time.Now(), span: time.Second, status: &Status{GPUReader: reader}}
		f.second(&s)
		return s.status.CPU
	}
	at(time.Hour)
	if cpu := at(2 * time.Hour); cpu < 3600 {
		t.Errorf("the reader used an hour more in a second, and the tracer %f CPUs", cpu)
	}
}
