package event_test

import (
	"maps"
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

func TestBothAPIsHaveTheSameGraphSteps(t *testing.T) {
	runtime, driver := map[string]bool{}, map[string]bool{}
	for i := range event.Catalog {
		switch o := &event.Catalog[i]; {
		case o.Op.GraphStep() == "":
			if o.Op.Source() == event.SourceGraph || o.Role == event.RoleCapture {
				t.Errorf("%s does nothing to a graph", o.Name)
			}
		case o.Op.Source() == event.SourceGraph:
			runtime[o.Op.GraphStep()] = true
		case o.Op.Source() == event.SourceDriver:
			driver[o.Op.GraphStep()] = true
		default:
			t.Errorf("%s does %s", o.Name, o.Op.GraphStep())
		}
	}
	if !maps.Equal(runtime, driver) || !runtime["GraphLaunch"] || !runtime["StreamIsCapturing"] {
		t.Errorf("the runtime has %v, the driver %v", runtime, driver)
	}
}
