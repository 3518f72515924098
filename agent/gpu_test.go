package agent_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// gpuWriter keeps what is said of GPUs, and calls read when the first reading came.
type gpuWriter struct {
	*counter
	all  store.Batch
	read func()
}

func (w *gpuWriter) Write(b *store.Batch) error {
	w.all.GPUs = append(w.all.GPUs, b.GPUs...)
	w.all.GPUDevices = append(w.all.GPUDevices, b.GPUDevices...)
	w.all.GPUMemory = append(w.all.GPUMemory, b.GPUMemory...)
	w.all.Xids = append(w.all.Xids, b.Xids...)
	w.all.Losses = append(w.all.Losses, b.Losses...)
	if len(w.all.GPUs) > 0 && w.read != nil {
		w.read()
		w.read = nil
	}
	return w.counter.Write(b)
}

// What the library says is recorded each second; a call into it that hangs is counted
// as a loss, holds up nothing, and does not outlive the run.
func TestReadingsOfGPUsAreRecorded(t *testing.T) {
	kerneltest.Require(t)
	memory := fmt.Sprintf("process=0:%d:%d", os.Getpid(), 3<<30)
	settings := []string{
		"gpus=2", "util=97", "temp=84", "clock_sm=1200", "mem_used=1048576000", "reasons=0x40",
		"power=650000", "ecc_corrected=3", "fail.nvmlDeviceGetTotalEccErrors.1=3", "xid=1:1:79",
	}
	lib, err := cudastub.ExtractNVML(t.TempDir(), append(settings, memory)...)
	if err != nil {
		t.Fatal(err)
	}
	w := &gpuWriter{counter: newCounter(), read: func() {
		if err := lib.Set(append(settings, "hang.nvmlDeviceGetPowerUsage=1")...); err != nil {
			t.Error(err)
		}
	}}
	began := time.Now()
	summary, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Duration: 4500 * time.Millisecond, NVML: []string{lib.Dir},
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if summary.GPUReader <= 0 || summary.CPU <= summary.GPUReader {
		t.Errorf("the tracer used %s of CPU, of which its reader of GPUs %s", summary.CPU, summary.GPUReader)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the run of 4.5 s took %s", took)
	}
	if len(w.all.GPUs) < 2 || len(w.all.GPUs)%2 != 0 || len(w.all.GPUDevices) != 2 {
		t.Fatalf("recorded %+v", w.all)
	}
	g := w.all.GPUs[0]
	want := store.GPUSnapshot{
		At: g.At, TempC: 84, ClockMHz: 1200, MaxMHz: 1980, UtilPct: 97, Reasons: store.ThrottleHWThermal, MemMB: 1000,
		TotalMB:     80 << 10,
		MemClockMHz: 345, PowerMW: 650_000, PowerLimitMW: 700_000, ECC: store.ECCErrors{Corrected: 3},
	}
	if g != want {
		t.Errorf("reading %+v, want %+v", g, want)
	}
	if g := w.all.GPUs[1]; g.GPU != 1 || g.Known(store.GPUCorrected) || !g.Known(store.GPUTemp) {
		t.Errorf("reading of the other GPU: %+v", g)
	}
	if m := w.all.GPUMemory; len(m) == 0 || m[0].PID != uint32(os.Getpid()) || m[0].Bytes != 3<<30 || !m[0].Known {
		t.Errorf("memory of processes: %+v", m)
	}
	if x := w.all.Xids; len(x) != 1 || x[0].GPU != 1 || x[0].Code != 79 || x[0].At < g.At {
		t.Errorf("errors %+v", x)
	}
	lost := uint64(0)
	for _, l := range w.all.Losses {
		if l.Kind.String() == "gpu_reading" {
			lost += l.Count
		}
	}
	if lost == 0 {
		t.Errorf("losses %+v", w.all.Losses)
	}
	noHelper(t)
}

// noHelper checks that this process has no child that reads GPUs.
func noHelper(t *testing.T) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // the thread ended
		}
		for pid := range strings.FieldsSeq(string(b)) {
			if comm, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil &&
				strings.TrimSpace(string(comm)) == "ingero-nvml" {
				t.Errorf("process %s runs on", pid)
			}
		}
	}
}
