package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/bench/straggler"
)

func TestFleetTableSaysWhatWasWrong(t *testing.T) {
	plan, err := straggler.Plan(&straggler.Options{Only: []string{"disk", "node cut off", "even"}, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	v := func(f float64) *float64 { return &f }
	r := &straggler.Report{
		Kernel: "6.18", Arch: "amd64", CPUs: 2, Ranks: 8, StepMS: 200,
		Results: []straggler.Result{
			{Case: plan[0], LateMS: v(31.2), ToldS: v(5.94), CauseS: v(6.04), Cause: "block_io", OthersPct: 12},
			{Case: plan[0], LateMS: v(31.2), ToldS: v(5.94), CauseS: v(12), Cause: "block_io"},
			{Case: plan[1], ToldS: v(6.6), EndS: v(11.25)},
			{Case: plan[2], Steps: 300, Seconds: 60.1, False: []string{"07:00:00 rank 3 on node-a is slower"}},
		},
	}
	var out strings.Builder
	if err := (&console{out: &out}).writeStragglers(r); err != nil {
		t.Fatal(err)
	}
	want := `case          late by  reported after  cause after  limit      false  others  cause
disk, 20 %      31 ms           5.9 s        6.0 s   10 s  ok      0    12 %  block_io
disk, 20 %      31 ms           5.9 s       12.0 s   10 s  NO      0     0 %  block_io
node cut off                    6.6 s                15 s  ok      0     0 %  there again after 11.2 s
even                                                       NO      1     0 %  300 steps in 60 s

2 of 4 right; 8 ranks on two nodes, steps of 200 ms; Linux 6.18, amd64, 2 CPUs

Reported wrongly:
even: 07:00:00 rank 3 on node-a is slower
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
