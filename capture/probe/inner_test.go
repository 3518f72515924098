package probe_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// setInner puts the probes on the driver's launches on or takes them off, and returns how
// many files have such probes.
func (b *bench) setInner(on bool) (files int) {
	b.t.Helper()
	for _, a := range b.attached {
		if a.HasInner(event.RoleLaunch) {
			files++
		}
		if err := b.tracer.SetInner(a, event.RoleLaunch, on); err != nil {
			b.t.Fatal(err)
		}
	}
	return files
}

func TestProbesOnTheDriversLaunchesAreDetachedAndReattached(t *testing.T) {
	eachFast(t, func(t *testing.T, backend probe.Backend) {
		for _, pidLink := range []bool{false, true} {
			b := newBench(t, probe.Options{Backend: backend}, cudastub.Options{}, pidLink)
			b.do("set cudaLaunchKernel:nested")
			b.do("set cudaMalloc:nested")
			for _, on := range []bool{true, false, false, true, true, false, true} {
				if n := b.setInner(on); n != 1 {
					t.Fatalf("%d files with such probes, want that of the driver", n)
				}
				want := 0
				if on {
					want = 50
				}
				_, r := b.do("call cudaLaunchKernel 50")
				if n := byDepth(r, "cudaLaunchKernel"); n[0] != 50 {
					t.Errorf("runtime calls by depth %v", n)
				}
				if n := byDepth(r, "cuLaunchKernel"); n[1] != want {
					t.Errorf("driver calls by depth %v, want %d", n, want)
				}
				_, r = b.do("call cudaMalloc 20")
				if n := byDepth(r, "cuMemAlloc"); n[1] != 20 {
					t.Errorf("other driver calls by depth %v", n)
				}
			}
			b.lost(nil)
		}
	})
}

func TestEveryFunctionKeepsItsProbeWithAPerfEventForEach(t *testing.T) {
	if testing.Short() {
		t.Skip("perf events of all functions take half a minute to end")
	}
	b := newBench(t, probe.Options{Backend: probe.BackendPerf}, cudastub.Options{}, false)
	if n := b.setInner(false); n != 0 {
		t.Errorf("%d files have probes that can be taken off", n)
	}
	if _, r := b.do("call cuLaunchKernel 5"); byDepth(r, "cuLaunchKernel")[0] != 5 {
		t.Error("launches of the driver are not recorded")
	}
}

// The same file gets its probes back when another one has its name.
func TestProbesAreReattachedToAReplacedFile(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	if b.setInner(false) == 0 {
		t.Skip("this back end keeps all probes")
	}
	path := filepath.Join(b.libDir, "libcuda.so.1")
	other := path + ".other"
	if err := os.WriteFile(other, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	b.setInner(true)
	if _, r := b.do("call cuLaunchKernel 5"); byDepth(r, "cuLaunchKernel")[0] != 5 {
		t.Error("launches of the driver are not recorded")
	}
}

// While probes come and go, every call of the runtime is recorded, and none with the time of
// another; a launch of the driver is within its own.
func TestCallsAreRightWhileProbesAreDetachedAndReattached(t *testing.T) {
	eachFast(t, func(t *testing.T, backend probe.Backend) {
		b := newBench(t, probe.Options{Backend: backend}, cudastub.Options{}, true)
		b.do("set cudaLaunchKernel:nested;cuLaunchKernel:spin=20us")
		done := make(chan struct{})
		var made int64
		go func() {
			defer close(done)
			if a, err := b.victim.Do("call cudaLaunchKernel 40000 threads=4 timed=0"); err == nil {
				made = a.Int("calls")
			}
		}()
		var turns int
		var all probe.Records
		for ended := false; !ended; turns++ {
			b.setInner(turns%2 == 1)
			select {
			case <-done:
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
			b.tracer.Drain(&all, 1<<30)
		}
		b.setInner(true)
		b.tracer.Drain(&all, 1<<30)
		runtime, driver := byDepth(&all, "cudaLaunchKernel"), byDepth(&all, "cuLaunchKernel")
		t.Logf("%d turns, %d of %d driver launches recorded", turns, driver[1], made)
		if int64(runtime[0]) != made || made == 0 || runtime != [8]int{runtime[0]} {
			t.Errorf("%d calls made, recorded by depth %v", made, runtime)
		}
		if driver[1] == 0 || int64(driver[1]) >= made || driver != [8]int{1: driver[1]} {
			t.Errorf("driver launches by depth %v", driver)
		}
		open := map[event.Thread]event.Call{}
		for i := range all.Calls {
			c := all.Calls[i]
			if c.Depth == 1 {
				open[c.Thread] = c
				continue
			}
			if in, ok := open[c.Thread]; ok {
				if in.Start < c.Start || in.Start+in.Duration > c.Start+c.Duration {
					t.Fatalf("a launch of the driver %+v is not within %+v", in, c)
				}
				delete(open, c.Thread)
			}
		}
		b.lost(nil)
	})
}
