// Package demo shows that the tracer finds the cause of a stall: it runs a program with one known
// fault, traces it through the real kernel, explains the recording, and compares the explanation
// with what the program knows about itself. Where tracing is not permitted, it explains an earlier
// recording. How often explanations are right is measured by package bench.
package demo

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Scenario is a program with a known fault.
type Scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"` // shown in the list
	Story string `json:"story"` // printed before it runs
	// Expect is the kind of cause that is to be found; empty means none.
	Expect string `json:"expect"`

	args []string // of "victim loop"
}

// Healthy reports whether there is nothing to find.
func (s *Scenario) Healthy() bool { return s.Expect == "" }

// Scenarios is the list, in the order in which it is shown.
var Scenarios = []Scenario{
	{
		Name: "incident", Title: "a training job slows down, and nobody changed it", Expect: event.CauseCPUContention,
		Story: "Training ran well all night. Now steps take longer, the GPU looks busy, and its temperature is fine. " +
			"Nobody touched the code.",
		args: []string{"--fault", "cpu-hog", "--start-after", "2"},
	},
	{
		Name: "cpu_contention", Title: "another process takes the CPU of the thread that launches kernels",
		Expect: event.CauseCPUContention,
		Story:  "A busy process shares the CPU with the thread that hands the GPU its work.",
		args:   []string{"--fault", "cpu-hog", "--duty", "60"},
	},
	{
		Name: "cpu_throttled", Title: "a container's CPU quota stops the launching thread", Expect: event.CauseCPUThrottled,
		Story: "The job runs in a control group whose CPU quota is too small for it. The CPUs themselves are idle.",
		args:  []string{"--fault", "throttle"},
	},
	{
		Name: "lock_contention", Title: "another thread holds a mutex for too long", Expect: event.CauseLockContention,
		Story: "A thread of the job computes under a mutex that every step needs.",
		args:  []string{"--fault", "lock"},
	},
	{
		Name: "block_io", Title: "the launching thread writes to disk itself", Expect: event.CauseBlockIO,
		Story: "Every now and then the training thread writes a checkpoint, with fsync, between two steps.",
		args:  []string{"--fault", "own-io"},
	},
	{
		Name: "lock_io", Title: "a thread waits for the disk while it holds a mutex", Expect: event.CauseBlockIO,
		Story: "Each step takes a mutex. Who holds it, and what is that thread waiting for?",
		args:  []string{"--fault", "lock-io"},
	},
	{
		Name: "gpu_wait", Title: "the GPU itself is slow", Expect: event.CauseGPUWait,
		Story: "Now and then a kernel takes longer. The host has nothing to do with it.",
		args:  []string{"--fault", "gpu"},
	},
	{
		Name: "driver_cpu", Title: "the driver computes inside a launch", Expect: event.CauseDriverCPU,
		Story: "Some launches burn CPU time inside the CUDA libraries.",
		args:  []string{"--fault", "driver-cpu"},
	},
	{
		Name: "cold_start", Title: "the first launch loads the code", Expect: event.CauseColdStart,
		Story: "The first call of a program takes far longer than all others.",
		args:  []string{"--fault", "cold", "--fault-ms", "900", "--start-after", "0"},
	},
	{
		Name: "input_starvation", Title: "a data worker is late with the next batch", Expect: event.CauseInputStarvation,
		Story: "Each step reads a batch from a worker process. Some batches take long to decode.",
		args:  []string{"--fault", "loader-cpu"},
	},
	{
		Name: "peer_wait", Title: "another process is late with an answer", Expect: event.CausePeerWait,
		Story: "Each step asks a feature store on the same machine, over a unix socket.",
		args:  []string{"--fault", "peer-unix"},
	},
	{
		Name: "memory_pressure", Title: "a memory limit makes the launching thread free memory first",
		Expect: event.CauseMemoryPressure,
		Story:  "The job runs in a control group that is nearly full. Allocating on the host takes longer and longer.",
		args:   []string{"--fault", "mem-pressure"},
	},
	{
		Name: "pageable_copy", Title: "copies from memory that is not pinned", Expect: event.CausePageableCopy,
		Story: "Some copies to the GPU are made by the CPU, piece by piece.",
		args:  []string{"--fault", "pageable", "--fault-ms", "30"},
	},
	{
		Name: "implicit_sync", Title: "a loss is printed after every small step", Expect: event.CauseImplicitSync,
		Story: "Each step waits for the GPU many times, for a few bytes each. No single wait is long.",
		args:  []string{"--fault", "implicit-sync", "--host-us", "15000"},
	},
	{
		Name: "graph_recapture", Title: "a CUDA graph is captured again and again", Expect: event.CauseGraphRecapture,
		Story: "Launching a graph is cheap. Capturing and instantiating it is not, and a changed shape makes it necessary.",
		args:  []string{"--fault", "graph-recapture"},
	},
	{
		Name: "gpu_contention", Title: "another process uses the same GPU", Expect: event.CauseGPUContention,
		Story: "The job waits longer for the GPU at some times than at others, and does nothing different.",
		args:  []string{"--fault", "gpu-peer"},
	},
	{
		Name: "idle", Title: "an inference server without requests", Expect: "",
		Story: "The GPU does little, because there is little to do. That is no fault, and must not be called one.",
		args:  []string{"--fault", "idle-server"},
	},
	{
		Name: "healthy", Title: "nothing is wrong, on a busy machine", Expect: "",
		Story: "A healthy job, a thread that sleeps in short naps, " +
			"and an unrelated pair of processes that switch all the time.",
		args: []string{"--fault", "none", "--sleeper", "--ping-pong", "0", "--pin", "1"},
	},
}

// Find returns the scenario with a name.
func Find(name string) (*Scenario, error) {
	var names []string
	for i := range Scenarios {
		if Scenarios[i].Name == name {
			return &Scenarios[i], nil
		}
		names = append(names, Scenarios[i].Name)
	}
	return nil, fmt.Errorf("there is no demo %q; choose one of %s", name, strings.Join(names, ", "))
}
