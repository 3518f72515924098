package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/bench/accuracy"
	"github.com/ingero-io/ingero/explain/compare"
)

func TestComparisonTableShowsWhatDidNotCount(t *testing.T) {
	off, right, wrong := 0.04, true, false
	known := func(name string) accuracy.Pair {
		return accuracy.Pair{Name: name, Expect: []accuracy.Item{{What: "calls"}}}
	}
	run := accuracy.ComparedRun{Steal: 0.02, OtherLoad: 0.11}
	equal := accuracy.Pair{Name: "equal 1", Of: "equal"}
	r := &accuracy.CompareReport{
		Seed: 7, Kernel: "6.18", Arch: "amd64", CPUs: 2, Known: accuracy.Part{Right: 1, Cases: 2},
		First: accuracy.Part{Right: 2, Cases: 2}, Amount: accuracy.Part{Right: 1, Cases: 1}, Causes: accuracy.Part{Cases: 1},
		Equal: accuracy.Part{Right: 1, Cases: 2}, MedianOff: &off, LargestPct: 4.1, Skipped: 1, Disturbed: 2,
		Results: []accuracy.Compared{
			{
				Pair: known("waits 1"), A: run, First: true, StepOff: &off, SlowerPct: 35.74, NoisePct: 3,
				Parts: []compare.Part{{Text: "3 instead of 1 cudaStreamSynchronize"}},
			},
			{Pair: known("neighbour 1"), First: true, CauseRight: &wrong, Unsure: true, StepOff: &off, SlowerPct: -5},
			{Pair: known("cpus 1"), Skipped: "needs 2 CPUs"},
			{Pair: known("copies 1"), Disturbed: true, CauseRight: &right, StepOff: &off},
			{Pair: equal, SlowerPct: 1.2, NoisePct: 3, A: run},
			{Pair: equal, SlowerPct: -4.1, NoisePct: 3.5, Changed: true},
			{Pair: equal, Disturbed: true, SlowerPct: 80},
		},
	}
	var out strings.Builder
	if err := (&console{out: &out}).writeComparisons(r); err != nil {
		t.Fatal(err)
	}
	want := `known difference  first  amount  cause  off by  slower  noise  stolen  others  first part found
waits 1              ok      ok            4 %    36 %  3.0 %     2 %    11 %  3 instead of 1 cudaStreamSynchronize
neighbour 1          ok       -  WRONG     4 %  -5.0 %  0.0 %     0 %     0 %  none
cpus 1                -       -                                                skipped: needs 2 CPUs
copies 1              -       -                  0.0 %  0.0 %     0 %     0 %  disturbed

equal runs  pairs  nothing said  largest difference  its noise  stolen  others  disturbed
equal 1         2             1               4.1 %      3.5 %     2 %    11 %          1

all                                   right
known differences, all right         1 of 2
the right part first                 2 of 2
amounts within 10 %                  1 of 1
cause and culprit                    0 of 1
equal pairs, nothing said            1 of 2
amounts off by, median                  4 %
largest difference of an equal pair   4.1 %

seed 7: 7 pairs, on Linux 6.18, amd64, 2 CPUs; 2 disturbed and not counted; 1 skipped
What each figure means: docs/accuracy.md; every result in full: --json
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
}
