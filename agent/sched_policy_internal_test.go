package agent

import (
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// EachThread calls visit for each thread of this process.
func EachThread(t *testing.T, visit func(tid int, a *unix.SchedAttr)) {
	t.Helper()
	tids, err := proc.New("").Threads(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		a, err := unix.SchedGetAttr(tid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(tid, a)
	}
}

// Threads that start while a tracer ends have the process's policy, too. A later tracer would take theirs for it.
func TestThreadsThatStartWhileATracerEndsAreRestored(t *testing.T) {
	kerneltest.Require(t) // without CAP_SYS_NICE a process cannot take back what newSchedPolicy sets (sched(7))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		p := newSchedPolicy(slog.New(slog.DiscardHandler))
		ended, done := make(chan struct{}), make(chan struct{})
		var threads sync.WaitGroup
		threads.Go(func() {
			for range 500 {
				select {
				case <-ended:
					return
				default:
				}
				threads.Go(func() {
					runtime.LockOSThread() // so the thread ends with the function
					<-done
				})
				runtime.Gosched()
			}
		})
		for range 10 {
			p.apply()
		}
		p.leave()
		close(ended)
		EachThread(t, func(tid int, a *unix.SchedAttr) {
			if a.Nice != before.Nice || a.Policy != before.Policy {
				t.Errorf("thread %d: %+v; want nice %d, policy %d", tid, a, before.Nice, before.Policy)
			}
		})
		close(done)
		threads.Wait()
		if t.Failed() {
			return
		}
	}
}
