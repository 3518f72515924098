// Package e2e runs a victim with a known fault under the whole tracer, on the real kernel, and
// returns the diagnosis together with the truth. It is for tests of the product's promises; it is
// not shipped.
package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
)

// Run traces "victim loop args" from before its first call to its end, together with all other
// processes that use CUDA. A run that the hypervisor or other programs disturbed is repeated, twice
// at most.
func Run(t *testing.T, args ...string) *rig.Result {
	t.Helper()
	return runTracer(t, true, args)
}

// RunAlone does the same for the program and its children only.
func RunAlone(t *testing.T, args ...string) *rig.Result {
	t.Helper()
	return runTracer(t, false, args)
}

func runTracer(t *testing.T, everyone bool, args []string) *rig.Result {
	t.Helper()
	kerneltest.Require(t)
	// Pauses are measured in an emulated machine only (vm.GuestEnv): the threads that wake up for it take part in
	// what is recorded of the CPUs.
	r, err := rig.Run(t.Context(), rig.Options{
		Args: args, Dir: t.TempDir(), DB: filepath.Join(t.TempDir(), "e2e.db"), Node: "node-1", Everyone: everyone,
		Backend: probe.Backend(kerneltest.Backend()), Pauses: os.Getenv("INGERO_GUEST") != "",
	}, func(r *rig.Result) { t.Logf("%s: once more", r.Machine()) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}
