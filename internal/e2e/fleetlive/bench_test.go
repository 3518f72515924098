package fleetlive

import (
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
	o := straggler.Options{
		Only: []string{"gpu", "node cut off"}, Quick: true, Ingero: filepath.Join(bin, "ingero"),
		Fleet: filepath.Join(bin, "ingero-fleet"), Sink: filepath.Join(bin, "straggler-sink"),
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
