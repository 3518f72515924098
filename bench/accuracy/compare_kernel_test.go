package accuracy

import (
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// TestAKnownDifferenceOnThisKernel checks that pairs are recorded, compared and scored. The quality of
// the scores is measured by the benchmark.
func TestAKnownDifferenceOnThisKernel(t *testing.T) {
	kerneltest.Require(t)
	o := Options{
		Seed: 1, Quick: true, Seconds: MinSeconds, Only: []string{"waits", "cpus"}, Keep: t.TempDir(), CPUs: []int{0},
	}
	plan, err := PlanComparisons(&o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunComparisons(t.Context(), plan, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 2 || r.Results[1].Skipped == "" || r.Skipped < 1 {
		t.Fatalf("compared %d pairs: %+v", len(r.Results), r)
	}
	c := r.Results[0]
	if c.Verdict == "" || c.Unit == "" || len(c.Parts) == 0 || c.A.Steps == 0 || c.A.Recording == c.B.Recording {
		t.Fatalf("was not run or not compared: %+v", c)
	}
	// The number of waits in a step is right however busy the machine is.
	for _, p := range c.Parts {
		if p.What == "calls" && p.Op == "cudaStreamSynchronize" && p.A > 0.99 && p.B > 1.01*p.A && p.B > p.A+1.99 {
			return
		}
	}
	if !c.Disturbed && c.Skipped == "" {
		t.Errorf("two more waits in a step are no part: %+v", c.Parts)
	}
}
