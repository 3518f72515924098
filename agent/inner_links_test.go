package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// innerTrace traces a victim while f gives it commands, and returns what was recorded of it.
func innerTrace(t *testing.T, everyone bool, f func(do func(string) cudastub.Answer)) (
	calls map[string]int64, s agent.Summary, backend probe.Backend,
) {
	t.Helper()
	files := extract(t)
	v, err := files.Start(t.Context(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	c := newCounter()
	o := c.options()
	o.InnerCalls = false
	if !everyone {
		o.PIDs = []int{v.PID()}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started, done := make(chan agent.Start, 1), make(chan error, 1)
	o.Started = func(s agent.Start) { started <- s }
	go func() {
		var err error
		s, err = agent.Run(ctx, o)
		done <- err
	}()
	select {
	case b := <-started:
		backend = b.Backend
	case err := <-done:
		t.Fatal(err)
	}
	f(func(command string) cudastub.Answer {
		a, err := v.Do(command)
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, l := range s.Losses {
		if l.Kind.Counts() || l.Kind == event.LostUnmatched {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
	return c.calls[uint32(v.PID())], s, backend
}

func notSeparately(s *agent.Summary) time.Duration {
	for _, l := range s.Losses {
		if l.Kind == event.InnerCalls {
			return time.Duration(l.Count) * time.Millisecond
		}
	}
	return 0
}

func TestDriverLaunchesWithinTheRuntimesAreNotCountedSeparately(t *testing.T) {
	for name, everyone := range map[string]bool{"one process": false, "every process": true} {
		t.Run(name, func(t *testing.T) {
			var made int64
			calls, s, backend := innerTrace(t, everyone, func(do func(string) cudastub.Answer) {
				do("set cudaLaunchKernel:nested")
				for range 5 { // as a command has a limit
					made += do("rate cudaLaunchKernel 30000 1").Int("calls")
				}
			})
			if calls["cudaLaunchKernel"] != made {
				t.Errorf("%d launches made, %d recorded", made, calls["cudaLaunchKernel"])
			}
			driver, off := calls["cuLaunchKernel"], notSeparately(&s)
			t.Logf("%d of %d driver launches recorded; %s without their probe", driver, made, off)
			switch {
			case backend == probe.BackendPerf:
				if driver != made || off != 0 {
					t.Errorf("%d of %d driver launches recorded, %s without their probe", driver, made, off)
				}
			case driver == 0 || driver >= made || off == 0:
				t.Errorf("%d of %d driver launches recorded, %s without their probe", driver, made, off)
			}
		})
	}
}

// Those that a library makes by itself are all recorded, and so is all else then.
func TestDriverLaunchesOutsideTheRuntimeAreAllCounted(t *testing.T) {
	var made, bare int64
	calls, s, _ := innerTrace(t, false, func(do func(string) cudastub.Answer) {
		do("set cudaLaunchKernel:nested")
		for range 5 {
			made += do("rate cudaLaunchKernel 30000 1").Int("calls")
			bare += do("call cuLaunchKernel 10").Int("calls")
		}
	})
	if calls["cudaLaunchKernel"] != made || calls["cuLaunchKernel"] != made+bare {
		t.Errorf("%d launches of the runtime and %d of the driver recorded, want %d and %d",
			calls["cudaLaunchKernel"], calls["cuLaunchKernel"], made, made+bare)
	}
	if off := notSeparately(&s); off != 0 {
		t.Errorf("%s without their probe", off)
	}
}

// When a program that had only such within the runtime's makes others, they are noticed.
func TestLaterDriverLaunchesOutsideTheRuntimeAreNoticed(t *testing.T) {
	var made int64
	calls, s, backend := innerTrace(t, false, func(do func(string) cudastub.Answer) {
		do("set cudaLaunchKernel:nested")
		for range 5 {
			do("rate cudaLaunchKernel 30000 1")
		}
		for range 12 { // longer than from one look to the next
			do("rate cuLaunchKernel 20000 1")
		}
		made = do("call cuLaunchKernel 50000 timed=0").Int("calls")
	})
	if backend == probe.BackendPerf {
		return // nothing to notice
	}
	off := notSeparately(&s)
	t.Logf("%d driver launches recorded, %s without their probe", calls["cuLaunchKernel"], off)
	if off < time.Second || off > 14*time.Second || calls["cuLaunchKernel"] < made {
		t.Errorf("%d driver launches recorded, %s without their probe", calls["cuLaunchKernel"], off)
	}
}
