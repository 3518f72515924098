package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// Where returns of probed functions are system calls, counting those would cost each CUDA call more
// than its probe does: a process that turns out to use CUDA has no footprint from then on.
func TestFootprintEndsWhenCUDAIsLoaded(t *testing.T) {
	kerneltest.Require(t)
	const commands = 300 // each is read
	for policy, ends := range map[agent.FootprintPolicy]bool{agent.FootprintAuto: true, agent.FootprintOn: false} {
		s := lateFootprint(t, policy, commands)
		if s.Footprint == nil {
			t.Fatalf("policy %q: no footprint of the time before CUDA was loaded", policy)
		}
		var reads uint64
		for _, c := range s.Footprint.Syscalls {
			if c.Syscall == "read" {
				reads += c.Calls
			}
		}
		var b strings.Builder
		if err := report.WriteFootprint(&b, s.Footprint, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(b.String(), "until CUDA was loaded ("); said != ends {
			t.Errorf("policy %q: said to be of the time until CUDA was loaded: %v, in\n%s", policy, said, &b)
		}
		counted := slices.ContainsFunc(s.Losses, func(l event.Loss) bool { return l.Kind == event.FootprintOver })
		if counted != ends {
			t.Errorf("policy %q: reported to have ended: %v", policy, counted)
		}
		if reads == 0 || ends == (reads >= commands) {
			t.Errorf("policy %q: %d reads counted, of %d after CUDA was loaded", policy, reads, commands)
		}
	}
}

// lateFootprint traces a process that loads CUDA, and is given commands once it is known to use CUDA.
func lateFootprint(t *testing.T, policy agent.FootprintPolicy, commands int) agent.Summary {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v, err := files.Start(t.Context(), cudastub.Options{Late: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := newCounter()
	recorded := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.calls[uint32(v.PID())]["cudaMalloc"] > 0
	}
	o := c.options()
	o.PIDs, o.Footprint = []int{v.PID()}, policy
	o.Started = func(agent.Start) {
		go func() {
			defer stop()
			do := func(command string) {
				if _, err := v.Do(command); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
			do("dlopen")
			for ctx.Err() == nil && !recorded() {
				do("call cudaMalloc 1") // the library may have no probes yet
				time.Sleep(50 * time.Millisecond)
			}
			for range commands {
				do("call cudaMalloc 1")
			}
		}()
	}
	s, err := agent.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Calls == 0 {
		t.Fatal("no CUDA call was recorded")
	}
	return s
}
