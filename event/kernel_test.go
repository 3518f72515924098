package event_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestLaunchesThatNameTheirKernel(t *testing.T) {
	t.Parallel()
	want := map[string]bool{
		"cudaLaunchKernel": true, "cudaLaunchCooperativeKernel": true, "cuLaunchKernel": true, "cuLaunchKernelEx": true,
		"cudaGraphLaunch": false, "cudaMalloc": false,
	}
	for name, launches := range want {
		i, ok := event.ByName(name)
		if !ok {
			t.Errorf("no operation %s", name)
			continue
		}
		if got := i.Op.LaunchesKernel(); got != launches {
			t.Errorf("%s launches a kernel: %v", name, got)
		}
		if launches && i.Args[0].Name != "func" {
			t.Errorf("%s: the first argument is %s", name, i.Args[0].Name)
		}
	}
	if event.Op(0xffff).LaunchesKernel() {
		t.Error("an unknown operation launches a kernel")
	}
}
