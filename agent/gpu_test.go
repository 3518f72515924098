package agent_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// gpuWriter keeps the readings of GPUs.
type gpuWriter struct {
	*counter
	gpus []store.GPUSnapshot
}

func (w *gpuWriter) Write(b *store.Batch) error {
	w.gpus = append(w.gpus, b.GPUs...)
	return w.counter.Write(b)
}

// What nvidia-smi says is recorded once, and nvidia-smi does not outlive the run.
func TestReadingsOfGPUsAreRecorded(t *testing.T) {
	kerneltest.Require(t)
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	script := "#!/bin/sh\necho \"$$, 84, 1200, 1980, 97, 0x40, 71034, 81559\"\nexec sleep 60\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &gpuWriter{counter: newCounter()}
	_, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Duration: 2500 * time.Millisecond, GPUs: path,
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.gpus) != 1 || w.gpus[0].Reasons != store.ThrottleHWThermal || w.gpus[0].At == 0 {
		t.Fatalf("recorded %+v", w.gpus)
	}
	if syscall.Kill(w.gpus[0].GPU, 0) == nil {
		t.Errorf("process %d runs on", w.gpus[0].GPU)
	}
}
