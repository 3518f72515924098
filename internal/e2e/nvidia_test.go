package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// nvidiaEnv names folders with NVIDIA's libcudart and libcuda. On Debian these are in the non-free
// packages libcudart11.0 and libcuda1. No GPU is needed: without one, every call fails with its own
// error.
const nvidiaEnv = "INGERO_NVIDIA_LIBS"

// nvidia makes a folder with links to NVIDIA's libraries, under the names by which the program
// loads them.
func nvidia(t *testing.T) (dir string) {
	t.Helper()
	where := os.Getenv(nvidiaEnv)
	if where == "" {
		t.Skipf("set %s to folders with NVIDIA's libcudart and libcuda", nvidiaEnv)
	}
	dir = t.TempDir()
	names := map[cudalib.Kind]string{cudalib.Runtime: "libcudart.so.12", cudalib.Driver: "libcuda.so.1"}
	for _, from := range filepath.SplitList(where) {
		entries, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			kind := cudalib.KindOf(e.Name())
			if !e.Type().IsRegular() || names[kind] == "" {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, names[kind])); err != nil {
				t.Fatal(err)
			}
			delete(names, kind)
		}
	}
	if len(names) > 0 {
		t.Fatalf("%s has no %v", where, names)
	}
	return dir
}

// TestNVIDIAsLibrariesAreTraced calls the real libraries. Detaching from perf events takes 20 s, so
// that back end is left out.
func TestNVIDIAsLibrariesAreTraced(t *testing.T) {
	kerneltest.Require(t)
	dir := nvidia(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, backend := range []probe.Backend{probe.BackendSession, probe.BackendMulti} {
		t.Run(string(backend), func(t *testing.T) {
			v, err := files.Start(context.Background(), cudastub.Options{Late: true, LibDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if _, err := v.Do("dlopen"); err != nil {
				t.Fatal(err)
			}
			onTheFastPath(t, v.PID())
			tr := startTracer(t, agent.Options{PIDs: []int{v.PID()}, Backend: backend})
			if len(tr.libraries) != 2 {
				t.Errorf("attached to %v", tr.libraries)
			}
			want := map[string]int{}
			for _, op := range []string{
				"cuCtxSynchronize", "cuStreamSynchronize", "cudaMalloc", "cudaFree",
				"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpyAsync", "cudaLaunchKernel",
			} {
				a, err := v.Do(fmt.Sprintf("call %s 25", op))
				if err != nil {
					t.Fatal(err)
				}
				if a.Int("rc") == 0 {
					t.Logf("%s works here: there is a GPU", op)
				}
				want[fmt.Sprintf("%s=%d", op, a.Int("rc"))] = 25
			}
			tr.stop()
			for result, n := range want {
				if got := tr.results[uint32(v.PID())][result]; got < n { // the runtime may call the driver, too
					t.Errorf("%s: %d calls recorded of %d", result, got, n)
				}
			}
		})
	}
}

// onTheFastPath fails the test if a function of a process's libraries has to be
// single-stepped.
func onTheFastPath(t *testing.T, pid int) {
	t.Helper()
	r, err := coverage.Examine(&coverage.Options{Libraries: all.Libraries(), PIDs: []int{pid}, Backend: "any"})
	if err != nil || len(r.Processes) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, l := range r.Processes[0].Libraries {
		t.Logf("%s %s, build id %s: %d functions, missing %v", l.Kind, l.Version, l.BuildID, len(l.Attached), l.Missing)
		if len(l.Slow) > 0 || !l.Timed || l.BuildID == "" || l.Soname == "" {
			t.Errorf("%s: timed %v, soname %q, build id %q, single-stepped %v", l.Path, l.Timed, l.Soname, l.BuildID, l.Slow)
		}
	}
	if r.Processes[0].Traced != coverage.Yes {
		t.Errorf("traced: %s, %+v", r.Processes[0].Traced, r.Processes[0].NotSeen)
	}
}
