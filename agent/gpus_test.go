package agent

import (
	"log/slog"
	"os/exec"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/internal/cudastub"
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
