package accuracy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

const second = 1_000_000_000 // ns

// slowLaunches are 100 launches: 95 of 5 us, and five of the given duration.
func slowLaunches(slow uint64) store.OpStat {
	launch, _ := event.ByName("cudaLaunchKernel")
	h := &stats.Histogram{}
	h.AddN(5_000, 95)
	h.AddN(slow, 5)
	return store.OpStat{Thread: event.Thread{PID: 10, TID: 11}, Op: launch.Op, Calls: 100, Hist: h}
}

// switched is a wait of a thread at a time, with a process that ran meanwhile, if not 0.
func switched(at uint64, pid, culprit uint32) event.OffCPU {
	o := event.OffCPU{Start: at, Thread: event.Thread{PID: pid, TID: pid}}
	if culprit != 0 {
		o.Culprits = []event.Culprit{{Thread: event.Thread{PID: culprit, TID: culprit}}}
	}
	return o
}

// switches are the tables of a recording that has only these intervals.
func switches(list []event.OffCPU) store.Tables {
	return store.Tables{Records: event.Records{OffCPU: list}}
}

func TestCoOccurrence(t *testing.T) {
	blames := func(pid uint32) []report.Cause {
		return []report.Cause{{Kind: event.CauseCPUContention, PID: pid, TID: pid, Detail: "cudaLaunchKernel"}}
	}
	many := func(at uint64, n int, pid, culprit uint32) []event.OffCPU {
		var l []event.OffCPU
		for range n {
			l = append(l, switched(at, pid, culprit))
		}
		return l
	}
	tests := []struct {
		name string
		in   diagnose.Input
		want []report.Cause
	}{
		{
			"a long tail and switches",
			diagnose.Input{Ops: []store.OpStat{slowLaunches(50_000)}, Tables: switches(many(0, 3, 10, 20))},
			blames(20),
		},
		{"no long tail", diagnose.Input{Ops: []store.OpStat{slowLaunches(14_000)}, Tables: switches(many(0, 3, 10, 20))}, nil},
		{"too few switches", diagnose.Input{Ops: []store.OpStat{slowLaunches(50_000)}, Tables: switches(many(0, 2, 10, 20))}, nil},
		{"enough, but in two windows", diagnose.Input{
			Ops:    []store.OpStat{slowLaunches(50_000)},
			Tables: switches(append(many(0, 2, 10, 20), many(11*second, 2, 10, 20)...)),
		}, nil},
		{
			"neighbours that have nothing to do with it",
			diagnose.Input{Ops: []store.OpStat{slowLaunches(50_000)}, Tables: switches(many(0, 5, 30, 0))},
			blames(30),
		},
		{
			"nobody but the program itself",
			diagnose.Input{Ops: []store.OpStat{slowLaunches(50_000)}, Tables: switches(many(0, 5, 10, 0))},
			blames(10),
		},
		{"the tracer is spared", diagnose.Input{
			SelfPID: 40, Ops: []store.OpStat{slowLaunches(50_000)},
			Tables: switches(append(many(0, 5, 10, 40), switched(0, 10, 20))),
		}, blames(20)},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, CoOccurrence(&tt.in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestTheRuleIsScoredLikeTheDiagnosis(t *testing.T) {
	fault := Result{Case: Case{Expect: []Expect{findFault("lock").Expect}}}
	hog := Result{Case: Case{Expect: []Expect{findFault("cpu-hog").Expect}}}
	clean := Result{}
	named := []report.Cause{{Kind: event.CauseCPUContention, PID: 20, TID: 20}}
	tests := []struct {
		name   string
		r      *Result
		causes []report.Cause
		want   Judgement
	}{
		{"right", &hog, named, Judgement{Blames: 1, First: &named[0], FirstCause: true, Culprit: true}},
		{"a lock is no contention", &fault, named, Judgement{Blames: 1, First: &named[0], FalseBlame: true}},
		{"silent", &fault, nil, Judgement{}},
		{"nothing is wrong", &clean, named, Judgement{Blames: 1, First: &named[0], FalseBlame: true}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, *judgeRule(tt.r, tt.causes, &hogged)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
