package accuracy

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestAFaultAndAControlOnThisKernel checks that cases run and are scored. The quality of the scores
// is measured by the benchmark.
func TestAFaultAndAControlOnThisKernel(t *testing.T) {
	kerneltest.Require(t)
	o := Options{Seed: 1, Quick: true, Seconds: MinSeconds, Baseline: true, Keep: t.TempDir(), CPUs: []int{0}}
	var chosen []Case
	for _, c := range cases(t, o) {
		switch c.Name {
		case "lock", "clean", "hog on another CPU":
			chosen = append(chosen, c)
		}
	}
	reported := 0
	o.Progress = func(done, of int, name string) {
		if done != reported || of != 3 || name == "" {
			t.Errorf("progress %d of %d, %q", done, of, name)
		}
		reported++
	}
	r, err := Run(t.Context(), chosen, o)
	if err != nil {
		t.Fatal(err)
	}
	if reported != 3 || len(r.Results) != 3 || r.Skipped != 1 || r.Results[2].Skipped == "" || r.Baseline == nil {
		t.Fatalf("ran %d cases: %+v", reported, r)
	}
	for _, x := range r.Results[:2] {
		if x.Steps == 0 || x.Verdict == "" || x.VerdictSec <= 0 || x.Baseline == nil || x.Agent == nil ||
			len(x.Agent.Calls) == 0 {
			t.Errorf("%s was not run or not explained: %+v", x.Name, x)
		}
		if n := x.Numbers; n == nil || n.Compared < 100 || len(n.NoRule) > 0 || len(n.Wrong) > 0 && !x.Disturbed {
			t.Errorf("numbers of %s against the program's own: %+v", x.Name, n)
		}
		s, err := sqlite.OpenReader(x.Recording)
		if err != nil {
			t.Error(err)
			continue
		}
		s.Close()
		if filepath.Dir(x.Recording) != o.Keep {
			t.Errorf("recording is in %s", x.Recording)
		}
	}
	if lock := r.Results[0]; !lock.Disturbed && lock.InjectedNS == 0 {
		t.Error("no fault was injected")
	}
	o.Progress = nil
	if _, err := Run(t.Context(), chosen[:1], o); err == nil {
		t.Error("a kept recording was overwritten")
	}
}
