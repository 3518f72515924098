package llama_test

import (
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

// A program that runs already has looked its kernels up, so that nobody knows what the driver's
// functions are called, but by the runtime's launches around the driver's. Those of a program
// for CUDA 12 have the host function's address; with CUDA 13 it is a handle, which says nothing
// of a program that was found late.
func TestDriverLaunchesOfARunningLlamaAreNamed(t *testing.T) {
	realtest.Require(t)
	kerneltest.Require(t)
	c := liveRun{
		cuda: 12, gpu: "kernel.default=20us", running: true, env: []string{"GGML_CUDA_DISABLE_GRAPHS=1"}, args: []string{"--seconds", "4"},
	}
	_, r := c.watch(t)
	const launches = "select case when kernel is null then 'without' else 'with' end, count(*) from events where op "
	for _, op := range []string{"= 'cudaLaunchKernel'", "in ('cuLaunchKernel', 'cuLaunchKernelEx')"} {
		named := query(t, r.Input.DB, launches+op+" group by 1")
		if named["with"] == 0 || named["without"] > 0 {
			t.Errorf("op %s: %d launches are named, %d are not", op, named["with"], named["without"])
		}
	}
}
