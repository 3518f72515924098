package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/bench/accuracy"
	"github.com/ingero-io/ingero/explain/report"
)

func TestAccuracyTableShowsWhatDidNotCount(t *testing.T) {
	off := 0.04
	expect := []accuracy.Expect{{Fault: "lock", Kinds: []string{"lock_contention"}}}
	fault := func(name string) accuracy.Case {
		return accuracy.Case{Name: name, Magnitude: accuracy.Small, Expect: expect}
	}
	r := &accuracy.Report{
		Seed: 7, Kernel: "6.18", Arch: "amd64", CPUs: 2, Cases: 1, Controls: 1, Skipped: 1, Disturbed: 1,
		FirstCause: 1, FalseBlames: 1, MedianTimeError: &off,
		Pairs: &accuracy.Pairs{Cases: 3, Both: 2, InOrder: 1},
		Agents: accuracy.Agents{
			Cases: 4, Reached: 3, Contradictions: 5, Tokens: 900,
			Began: accuracy.Part{Right: 1, Cases: 2}, Lost: accuracy.Part{Right: 2, Cases: 2}, Gain: accuracy.Part{Cases: 2},
		},
		Baseline: &accuracy.Baseline{Rule: "cooccurrence", FirstCause: 0.25, FalseBlames: 9},
		ByCause:  []accuracy.ByCause{{Kind: "lock_contention", Cases: 1, FirstCause: 1, NotJudged: 2}},
		Results: []accuracy.Result{
			{
				Case: fault("lock"), FirstCause: true, Explained: 0.97, TimeError: &off, Steal: 0.1, OtherLoad: 0.02,
				First: &report.Cause{Kind: "lock_contention", Process: "engine", Thread: "gc"},
			},
			{Case: fault("gil"), Skipped: "no such thing"},
			{Case: fault("gpu"), Disturbed: true, Steal: 0.4},
			{
				Case: accuracy.Case{Name: "clean"}, FalseBlame: true,
				First: &report.Cause{Kind: "gpu_wait", Process: "x", Thread: "x"},
			},
		},
	}
	var out strings.Builder
	if err := (&console{out: &out}).writeAccuracy(r); err != nil {
		t.Fatal(err)
	}
	want := `case            cause  culprit   path  explained  time off  stolen  others  first cause found
lock, small        ok    WRONG  WRONG       97 %       4 %    10 %     2 %  lock_contention by engine/gc
gil, small          -        -      -                                       skipped: no such thing
gpu, small          -        -      -                         40 %     0 %  disturbed
control: clean  WRONG                                          0 %     0 %  gpu_wait by x

by cause         cases  first cause right  culprit right  not judged
lock_contention      1                  1              0           2

all                                 ingero  cooccurrence
first cause right                    100 %          25 %
culprit right                          0 %           0 %
among the first three                  0 %
path right                             0 %
runs that blame the innocent             1             9
two causes at once, both found      2 of 3
as the first two, larger first      1 of 3
agents find it in 3 calls           3 of 4
  when it began, within 1 s         1 of 2
  lost time per step                2 of 2
  step time without the cause       0 of 2
  contradictions                         5
  most that it reads, tokens           900
lost time explained, mean              0 %
attributed time off by, median         4 %
predicted step time off by, median       -
time to verdict, median                  -
time to verdict, longest              0 ns

seed 7: 1 case with one fault, 1 control, on Linux 6.18, amd64, 2 CPUs; 1 disturbed and not counted; 1 skipped
What each figure means: docs/accuracy.md; every result in full: --json
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
}
