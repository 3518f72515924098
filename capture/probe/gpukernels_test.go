package probe_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// name is the only name a command made known.
func name(t *testing.T, r *probe.Records) probe.KernelName {
	t.Helper()
	if len(r.KernelNames) != 1 {
		t.Fatalf("names %+v, want one", r.KernelNames)
	}
	return r.KernelNames[0]
}

func TestNamesOfKernelsAreRecordedOnEveryBackend(t *testing.T) {
	eachBackend(t, func(t *testing.T, backend probe.Backend) {
		b := newBench(t, probe.Options{Backend: backend}, cudastub.Options{}, backend == probe.BackendPerf)
		_, r := b.do("call __cudaRegisterFunction 1 func=0x5000 name=_Z3addPf")
		if n := name(t, r); n.Kind != probe.NameRegistered || n.Func != 0x5000 || n.Name != "_Z3addPf" ||
			n.PID != uint32(b.victim.PID()) {
			t.Errorf("registered %+v", n)
		}
		for _, length := range []int{198, 199, 200, 201, 900} { // around where the short record ends
			long := strings.Repeat("k", length)
			_, r = b.do("call cuModuleGetFunction 1 name=%s", long)
			if n := name(t, r); n.Kind != probe.NameLoaded || n.Name != long {
				t.Errorf("looked up %d bytes, reported %+v", length, n)
			}
		}
		_, r = b.do("call cuLibraryGetKernel 1 name=triton_add")
		kernel := name(t, r)
		_, r = b.do("call cuKernelGetFunction 1 kernel=last")
		if n := name(t, r); kernel.Name != "triton_add" || n.Kind != probe.NameSame || n.From != kernel.Func ||
			n.Func == kernel.Func || n.Name != "" {
			t.Errorf("kernel %+v, function %+v", kernel, n)
		}
		_, r = b.do("call cuLaunchKernel 1 kernel=last")
		if len(r.Calls) != 1 || len(r.KernelNames) != 0 {
			t.Errorf("a launch recorded %d calls, %+v", len(r.Calls), r.KernelNames)
		}
		b.do("set cuModuleGetFunction:err=500")
		if _, r = b.do("call cuModuleGetFunction 1 name=missing"); len(r.KernelNames) != 0 {
			t.Errorf("a look-up that failed reported %+v", r.KernelNames)
		}
		b.lost(nil)
	})
}

// libtorch registers 24,000 kernels at once, most of whose names are long. None is lost, if
// nobody drains meanwhile: if names come too fast, only where they are is reported.
func TestTensOfThousandsOfNamesAtOnceAreAllReported(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	const n = 30000
	long := strings.Repeat("k", 900)
	_, r := b.do("call __cudaRegisterFunction %d timed=0 func=0x5000 name=%s", n, long)
	texts := 0
	for _, k := range r.KernelNames {
		if k.Name == long {
			texts++
		} else if k.Name != "" || k.From == 0 {
			t.Fatalf("reported %+v", k)
		}
	}
	if got := len(r.KernelNames); got != n || texts == 0 || texts == n {
		t.Errorf("%d names reported, %d with their text, want %d", got, texts, n)
	}
	if _, r = b.do("call cudaLaunchKernel 100"); len(r.Calls) != 100 {
		t.Errorf("%d launches, want 100", len(r.Calls))
	}
	b.lost(nil)
}

// What does not fit all the same is counted, and nothing else is lost with it.
func TestNamesThatDoNotFitAreCounted(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	const n = 200000
	_, r := b.do("call __cudaRegisterFunction %d timed=0 func=0x5000 name=%s", n, strings.Repeat("k", 150))
	losses, err := b.tracer.Losses()
	if err != nil {
		t.Fatal(err)
	}
	lost := int(losses[event.LostName])
	if got := len(r.KernelNames); got+lost != n || got == 0 {
		t.Errorf("%d names and %d lost, want %d together", got, lost, n)
	}
	if _, r = b.do("call cudaLaunchKernel 100"); len(r.Calls) != 100 {
		t.Errorf("%d launches, want 100", len(r.Calls))
	}
	b.lost(nil)
	t.Logf("%d of %d names did not fit", lost, n)
}
