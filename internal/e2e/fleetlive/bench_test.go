package fleetlive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/bench/straggler"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// A part of what "ingero bench fleet" measures; how soon things are told is not asked here.
func TestWhatHappensToARankOrNodeIsTold(t *testing.T) {
	kerneltest.Require(t)
	bin := t.TempDir()
	build(t, bin)
	measure(t, bin, bin, "gpu", "node cut off")
}

// Agents and fleets are upgraded one after the other. INGERO_EARLIER is a folder with programs of an earlier version.
func TestTracersAndFleetsOfTwoVersions(t *testing.T) {
	earlier := os.Getenv("INGERO_EARLIER")
	if earlier == "" {
		t.Skip("make test-upgrade builds the programs of an earlier version, and sets INGERO_EARLIER")
	}
	kerneltest.Require(t)
	bin := t.TempDir()
	build(t, bin)
	t.Run("earlier tracers", func(t *testing.T) { measure(t, earlier, bin, "gpu") })
	t.Run("earlier fleet", func(t *testing.T) { measure(t, bin, earlier, "gpu") })
}

// measure runs what happens to ranks and nodes, with the tracer of one folder, and the fleet and the sink of another.
func measure(t *testing.T, tracer, fleet string, only ...string) {
	t.Helper()
	o := straggler.Options{
		Only: only, Quick: true, Ingero: filepath.Join(tracer, "ingero"),
		Fleet: filepath.Join(fleet, "ingero-fleet"), Sink: filepath.Join(fleet, "straggler-sink"),
	}
	plan, err := straggler.Plan(&o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := straggler.Run(t.Context(), plan, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != len(o.Only) {
		t.Errorf("%d runs", len(r.Results))
	}
	for i := range r.Results {
		x := &r.Results[i]
		t.Logf("%s: %s", x.Title(), x.Said)
		if !x.Right() {
			t.Errorf("%s: %+v", x.Title(), x)
		}
	}
}
