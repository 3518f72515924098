package agent_test

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// ownNice is the nice value that the test was started with.
var ownNice = func() int32 {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return 0
	}
	return a.Nice
}()

// niceThreads counts the threads of this process whose nice value is raised.
func niceThreads(t *testing.T) (n int) {
	t.Helper()
	agent.EachThread(t, func(tid int, a *unix.SchedAttr) {
		if a.Policy == unix.SCHED_IDLE {
			t.Errorf("thread %d is SCHED_IDLE: beside busy programs the others may wait for it for seconds", tid)
		}
		if a.Nice > ownNice {
			n++
		}
	})
	return n
}

// The tracer gives way to others, unless somebody waits for it; at the end the process is
// what it was.
func TestATracerWithAPendingRequestKeepsItsPriority(t *testing.T) {
	kerneltest.Require(t)
	var busy atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := agent.Run(ctx, agent.Options{
			PIDs: []int{os.Getpid()}, UID: agent.AnyUser, Busy: []func() bool{func() bool { return false }, busy.Load},
			Started: func(agent.Start) { close(started) },
		})
		done <- err
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	until := func(what string, ok func(int) bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(niceThreads(t)); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d threads have a raised nice value", what, niceThreads(t))
			}
		}
	}
	some, none := func(n int) bool { return n > 0 }, func(n int) bool { return n == 0 }
	until("nobody waits", some)
	busy.Store(true)
	until("somebody waits", none)
	busy.Store(false)
	until("nobody waits any longer", some)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	until("the end", none)
}

// The tracer leaves the CPU to others; a program that it starts does not.
func TestAStartedProgramKeepsItsPolicy(t *testing.T) {
	kerneltest.Require(t)
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o := agent.Options{Command: []string{"cat", "/proc/self/stat"}, UID: agent.AnyUser, Stdout: &said}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(said.String(), ") ")
	fields := strings.Fields(after) // from the third on (proc_pid_stat(5))
	if len(fields) < 39 || fields[38] != strconv.Itoa(int(before.Policy)) || fields[16] != strconv.Itoa(int(before.Nice)) {
		t.Errorf("the policy of the program is not %d, nice %d: %q", before.Policy, before.Nice, said.String())
	}
}
