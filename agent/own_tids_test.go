package agent_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// waits keeps the waits for locks whose holder is known.
type waits struct {
	*counter
	held []event.OffCPU
}

func (w *waits) Write(b *store.Batch) error {
	for i := range b.OffCPU {
		if o := &b.OffCPU[i]; o.Class == event.Futex && o.Holder != 0 {
			w.held = append(w.held, *o)
		}
	}
	return w.counter.Write(b)
}

// The words of locks have thread ids of the program's PID namespace: in a container they are others than the host's.
func TestHoldersOfLocksInAContainerAreTheHostsThreads(t *testing.T) {
	files := extract(t)
	victim := exec.Command(files.Victim, "loop", "--seconds", "3", "--start-after", "0.5", "--period-ms", "250", "--fault",
		"lock")
	victim.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir)
	victim.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := victim.Start(); err != nil {
		kerneltest.Lacks(t, err.Error())
	}
	pid := victim.Process.Pid
	done := make(chan error, 1)
	go func() { done <- victim.Wait() }()
	t.Cleanup(func() { _ = victim.Process.Kill() }) // it has ended, unless the test failed
	w := &waits{counter: newCounter()}
	o := w.options()
	o.Record = &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }}
	o.PIDs = []int{pid}
	o.Duration = 20 * time.Second
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	n := 0
	for i := range w.held {
		o := &w.held[i]
		holder := event.Thread{PID: uint32(pid), TID: o.Holder}
		name, known := w.threads[holder]
		if int(o.PID) == pid && !known {
			t.Errorf("thread %d held a lock that thread %d of process %d waited for, and is none of it", o.Holder, o.TID, pid)
		}
		if o.Duration > 20e6 && name == "metrics-flush" {
			n++
		}
	}
	if n == 0 {
		t.Errorf("no wait for the lock of metrics-flush in %d waits: %v", len(w.held), w.threads)
	}
}
