package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/event"
)

// maxInvestigation is the largest size of an investigation's file, bytes: it is part of the
// repository.
const maxInvestigation = 1_500_000

// investigations are the recordings of docs/investigations.md. In all of them the GPU needs 8 ms
// for a step, like with a small model, and the fault begins after three seconds.
func investigations() []recording {
	list := []recording{
		{
			Scenario: demo.Scenario{
				Name:  "data-loader-starvation",
				Title: "a data worker is slower than the steps that need its batches", Expect: event.CauseInputStarvation,
			},
			args: []string{"--fault", "loader-cpu", "--fault-ms", "120", "--period-ms", "400"},
		},
		{
			Scenario: demo.Scenario{
				Name:  "lock-through-disk",
				Title: "a thread writes to disk while it holds a mutex that every step takes", Expect: event.CauseBlockIO,
			},
			args: []string{"--fault", "lock-io", "--fault-ms", "80", "--period-ms", "400"},
		},
		{
			Scenario: demo.Scenario{
				Name:  "noisy-neighbour",
				Title: "a process of somebody else shares the launching thread's CPU", Expect: event.CauseCPUContention,
			},
			args: []string{"--fault", "cpu-hog", "--duty", "70"},
		},
		{
			Scenario: demo.Scenario{
				Name: "graph-recapture", Title: "a CUDA graph is captured and instantiated again and again",
				Expect: event.CauseGraphRecapture,
			},
			args: []string{"--fault", "graph-recapture", "--fault-ms", "25", "--period-ms", "150"},
		},
		{
			Scenario: demo.Scenario{
				Name: "memory-leak", Title: "device memory is allocated in each step and never freed",
				Expect: event.CauseMemoryLeak,
			},
			length: 20 * time.Second, args: []string{"--fault", "leak"}, stack: probe.StackAll, // else only of few allocations
		},
		{
			Scenario: demo.Scenario{Name: "healthy", Title: "nothing is wrong, though the machine is busy"},
			args:     []string{"--fault", "none", "--sleeper", "--ping-pong", "0", "--pin", "1"},
		},
	}
	for i := range list {
		c := &list[i]
		c.node, c.rate, c.clear, c.keep = "gpu-node-01", 50, true, keepPlain
		c.args = append(c.args, "--sync-us", "8000", "--start-after", "3")
		if c.length == 0 {
			c.length = 12 * time.Second
		}
	}
	return list
}

// keepPlain stores a recording uncompressed, so that any SQLite program can open it.
func keepPlain(dir string, r *demo.Result, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("keep recording: %w", err)
	}
	if len(b) > maxInvestigation {
		return fmt.Errorf("keep recording: it has %d bytes, at most %d are meant; lower its rate or length", len(b),
			maxInvestigation)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep recording: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, r.Scenario.Name+".db"), b, 0o644)
}
