package gpukernel

import (
	"maps"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

// Kernels without the one way to probe functions refuse the programs that are for it.
func TestOnlyTheProgramsOfTheBackendAreLoaded(t *testing.T) {
	for perf, want := range map[bool][]string{
		true: {"perf_enter", "perf_return"}, false: {"multi_enter", "multi_return"},
	} {
		s, err := LoadName()
		if err != nil {
			t.Fatal(err)
		}
		attach, err := prepare(s, &kernel.Host{Perf: perf})
		if err != nil || len(attach) != 0 {
			t.Errorf("attach %v, %v", attach, err)
		}
		if got := slices.Sorted(maps.Keys(s.Programs)); !slices.Equal(got, want) {
			t.Errorf("perf is %v: programs %v, want %v", perf, got, want)
		}
	}
}
