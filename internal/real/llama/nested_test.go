package llama_test

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

// A running program has registered and looked up its kernels before the tracer starts. Its launches
// through the runtime name kernels by their host functions, with CUDA 13 too; the driver's launches
// get the names from the runtime calls around them.
func TestLaunchesOfARunningLlamaAreNamed(t *testing.T) {
	realtest.Require(t)
	kerneltest.Require(t)
	for _, cuda := range []int{12, 13} {
		t.Run(fmt.Sprintf("CUDA %d", cuda), func(t *testing.T) {
			c := liveRun{
				cuda: cuda, gpu: "kernel.default=20us", running: true,
				env: []string{"GGML_CUDA_DISABLE_GRAPHS=1"}, args: []string{"--seconds", "4"},
			}
			_, r := c.watch(t)
			const launches = "select case when kernel is null then 'without' else 'with' end, count(*) from events where op "
			for _, op := range []string{"= 'cudaLaunchKernel'", "in ('cuLaunchKernel', 'cuLaunchKernelEx')"} {
				named := query(t, r.Input.DB, launches+op+" group by 1")
				if named["with"] == 0 || named["without"] > 0 {
					t.Errorf("op %s: %d launches are named, %d are not", op, named["with"], named["without"])
				}
			}
		})
	}
}
