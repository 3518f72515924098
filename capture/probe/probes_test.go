package probe

import (
	"testing"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/capture/probe/pages"
	"github.com/ingero-io/ingero/capture/probe/syscalls"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// What a value names is in its object, so that a probe that is misspelt fails here and not only
// where the kernel lacks something else.
func TestNamesInKernelProbesExistInTheirObjects(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range append([]*kernel.Probe{pages.Probe(0), syscalls.Probe(0)}, kernelProbes...) {
		spec, err := p.Load()
		if err != nil {
			t.Fatal(err)
		}
		if p.Name == "" || seen[p.Name] {
			t.Errorf("%q is no name of its own", p.Name)
		}
		seen[p.Name] = true
		if p.Ring != "" && spec.Maps[p.Ring] == nil {
			t.Errorf("%s: there is no ring %s", p.Name, p.Ring)
		}
		programs := p.Counted
		if p.Iterator != "" {
			programs = append(programs, p.Iterator)
		}
		for _, name := range programs {
			if spec.Programs[name] == nil {
				t.Errorf("%s: there is no program %s", p.Name, name)
			}
		}
	}
	for _, p := range kernelProbes {
		if p.Without == "" {
			t.Errorf("%s: it is not said what is missing without it", p.Name)
		}
	}
}

// The kernels on which tests run have all that the probes need.
func TestAllKernelProbesAreLoaded(t *testing.T) {
	kerneltest.Require(t)
	tr, err := Open(Options{Backend: Backend(kerneltest.Backend())})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range kernelProbes {
		l := tr.probe(p)
		if l == nil {
			t.Errorf("%s is not loaded", p.Name)
			continue
		}
		for i := range tr.probes {
			if tr.probes[i].Probe == p && (tr.probes[i].ring != nil) != (p.Ring != "") {
				t.Errorf("%s: its ring is not read", p.Name)
			}
		}
	}
	for range 2 { // it may be closed twice
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
	if l := tr.probe(kernelProbes[0]); l != nil {
		t.Error("a probe of a closed tracer")
	}
}
