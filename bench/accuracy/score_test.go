package accuracy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// In these tests the program is process 10. Its dispatching thread is 11, the thread that holds a
// lock is 12. Process 20 is a hog.
var (
	hogged = cudastub.Truth{
		PID: 10, TID: 11,
		Injection: cudastub.Injection{CulpritPID: 20, CulpritTID: 20, InjectedNS: 1000},
	}
	locked = cudastub.Truth{PID: 10, TID: 11, Injection: cudastub.Injection{
		CulpritPID: 10, CulpritTID: 12, HolderPID: 10, HolderTID: 12, InjectedNS: 1000,
	}}
	pooled = cudastub.Truth{
		PID: 10, TID: 11,
		Injection: cudastub.Injection{CulpritPID: 10, CulpritTID: 12, CulpritComm: "tokenizer"},
	}
	// A data worker, 21, whose CPU a hog takes.
	starved = cudastub.Truth{
		PID: 10, TID: 11,
		Injection: cudastub.Injection{CulpritPID: 20, CulpritTID: 20, PeerPID: 21, PeerTID: 21},
	}
	// Data workers, 21 to 24, that share a CPU.
	crowded = cudastub.Truth{PID: 10, TID: 11, Injection: cudastub.Injection{
		CulpritPID: 21, CulpritTID: 21, CulpritPIDs: []int{21, 22, 23, 24},
	}}
)

// withGPU adds a second fault that cost ns; it has no culprit.
func withGPU(t cudastub.Truth, ns int64) cudastub.Truth {
	t.Also = &cudastub.Injection{Fault: "gpu", InjectedNS: ns}
	return t
}

func step(pid, tid uint32, state string) report.Step {
	return report.Step{PID: pid, TID: tid, State: state}
}

func chain(kind string, pid, tid uint32, path ...report.Step) report.Chain {
	return report.Chain{Cause: report.Cause{Kind: kind, PID: pid, TID: tid}, Path: path, LostNS: 1000, ExplainedPct: 90}
}

// scored is the part of a case's score that is compared.
type scored struct {
	First, Culprit, Top3, Path, InOrder, FalseBlame bool
	Further                                         int
}

func TestScore(t *testing.T) {
	hog, lock := findFault("cpu-hog").Expect, findFault("lock").Expect
	gpu, lockIO := findFault("gpu").Expect, findFault("lock-io").Expect
	rightHog := chain(event.CauseCPUContention, 20, 23, step(10, 11, "runnable"), step(20, 23, "running"))
	rightLock := chain(event.CauseLockContention, 10, 12, step(10, 11, "blocked"), step(10, 12, "running"))
	rightIO := chain(event.CauseBlockIO, 10, 12, step(10, 11, "blocked"), step(10, 12, "blocked"))
	rightGPU := chain(event.CauseGPUWait, 10, 11, step(10, 11, "blocked"))
	other := chain(event.CauseCPUContention, 30, 30, step(10, 11, "runnable"), step(30, 30, "running"))
	loader := findFault("loader-hog").Expect
	throughWorker := chain(event.CauseCPUContention, 20, 20, step(10, 11, "blocked"), step(21, 21, "runnable"),
		step(20, 20, "running"))
	tests := []struct {
		name   string
		expect []Expect
		truth  cudastub.Truth
		chains []report.Chain
		want   scored
	}{
		{
			"right, by another thread of the hog",
			[]Expect{hog},
			hogged,
			[]report.Chain{rightHog},
			scored{First: true, Culprit: true, Top3: true, Path: true},
		},
		{"silent: a miss, but nobody is blamed", []Expect{hog}, hogged, nil, scored{}},
		{
			"right kind, wrong process",
			[]Expect{hog},
			hogged,
			[]report.Chain{other},
			scored{First: true, FalseBlame: true, Further: 1},
		},
		{
			"second of two",
			[]Expect{lock},
			locked,
			[]report.Chain{other, rightLock},
			scored{Top3: true, Path: true, FalseBlame: true, Further: 1},
		},
		{
			"fourth of four",
			[]Expect{lock},
			locked,
			[]report.Chain{other, other, other, rightLock},
			scored{Path: true, FalseBlame: true, Further: 3},
		},
		{
			"right thread, path without it",
			[]Expect{lock},
			locked,
			[]report.Chain{chain(event.CauseLockContention, 10, 12, step(10, 11, "blocked"))},
			scored{First: true, Culprit: true, Top3: true},
		},
		{
			"path that begins elsewhere",
			[]Expect{lock},
			locked,
			[]report.Chain{chain(event.CauseLockContention, 10, 12, step(10, 12, "running"))},
			scored{First: true, Culprit: true, Top3: true},
		},
		{
			"another thread of the program",
			[]Expect{lock},
			locked,
			[]report.Chain{chain(event.CauseLockContention, 10, 13)},
			scored{First: true, FalseBlame: true, Further: 1},
		},
		{
			"a lock where its holder waits for the disk",
			[]Expect{lockIO},
			locked,
			[]report.Chain{rightLock},
			scored{FalseBlame: true, Further: 1},
		},
		{
			"the disk, holder shown blocked",
			[]Expect{lockIO},
			locked,
			[]report.Chain{rightIO},
			scored{First: true, Culprit: true, Top3: true, Path: true},
		},
		{
			"a sibling of the same name",
			[]Expect{findFault("sibling-hog").Expect},
			pooled,
			[]report.Chain{{Cause: report.Cause{Kind: event.CauseCPUContention, PID: 10, TID: 14, Thread: "tokenizer"}}},
			scored{First: true, Culprit: true, Top3: true},
		},
		{
			"a hog beside a data worker that is not shown",
			[]Expect{loader},
			starved,
			[]report.Chain{rightHog},
			scored{First: true, Culprit: true, Top3: true},
		},
		{
			"a hog beside a data worker",
			[]Expect{loader},
			starved,
			[]report.Chain{throughWorker},
			scored{First: true, Culprit: true, Top3: true, Path: true},
		},
		{
			"the starved data worker itself",
			[]Expect{loader},
			starved,
			[]report.Chain{chain(event.CauseInputStarvation, 21, 21)},
			scored{First: true, FalseBlame: true, Further: 1},
		},
		{
			"one of several workers",
			[]Expect{findFault("loader-crowd").Expect},
			crowded,
			[]report.Chain{chain(event.CauseCPUContention, 23, 23,
				step(10, 11, "blocked"), step(22, 22, "runnable"), step(23, 23, "running"))},
			scored{First: true, Culprit: true, Top3: true, Path: true},
		},
		{
			"two causes, larger first",
			[]Expect{lock, gpu},
			withGPU(locked, 2000),
			[]report.Chain{rightGPU, rightLock},
			scored{First: true, Culprit: true, Top3: true, Path: true, InOrder: true},
		},
		{
			"two causes, smaller first",
			[]Expect{lock, gpu},
			withGPU(locked, 2000),
			[]report.Chain{rightLock, rightGPU},
			scored{First: true, Culprit: true, Top3: true, Path: true},
		},
		{
			"two causes of about the same size",
			[]Expect{lock, gpu},
			withGPU(locked, 1200),
			[]report.Chain{rightLock, rightGPU},
			scored{First: true, Culprit: true, Top3: true, Path: true, InOrder: true},
		},
		{
			"two causes, one of unknown size",
			[]Expect{hog, gpu},
			withGPU(hogged, 9000),
			[]report.Chain{rightHog, rightGPU},
			scored{First: true, Culprit: true, Top3: true, Path: true, InOrder: true},
		},
		{
			"two causes with something between",
			[]Expect{lock, gpu},
			withGPU(locked, 2000),
			[]report.Chain{rightGPU, other, rightLock},
			scored{First: true, Culprit: true, Top3: true, Path: true, Further: 1},
		},
		{
			"two causes, one found",
			[]Expect{lock, gpu},
			withGPU(locked, 2000),
			[]report.Chain{rightLock},
			scored{First: true, Culprit: true, Path: true},
		},
	}
	for _, tt := range tests {
		r := Result{Case: Case{Expect: tt.expect}}
		r.score(tt.chains, &tt.truth)
		got := scored{r.FirstCause, r.Culprit, r.Top3, r.Path, r.InOrder, r.FalseBlame, r.Further}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestControlsMustBeSilent(t *testing.T) {
	cold := chain(event.CauseColdStart, 10, 11)
	for _, tt := range []struct {
		name    string
		allowed []string
		chains  []report.Chain
		want    bool
	}{
		{"silent", nil, nil, false},
		{"anything found", nil, []report.Chain{cold}, true},
		{"what is allowed", []string{event.CauseColdStart}, []report.Chain{cold}, false},
		{"more than is allowed", []string{event.CauseColdStart}, []report.Chain{cold, chain(event.CauseGPUWait, 10, 11)}, true},
	} {
		r := Result{Case: Case{Allowed: tt.allowed}}
		r.score(tt.chains, &hogged)
		if r.FalseBlame != tt.want || r.FirstCause || r.Culprit {
			t.Errorf("%s: scored %+v", tt.name, r)
		}
	}
}

func TestAmountsAreComparedWhereTheTruthIsExact(t *testing.T) {
	exact := Result{Case: Case{Expect: []Expect{findFault("lock").Expect}}}
	exact.score([]report.Chain{chain(event.CauseLockContention, 10, 12)}, &locked)
	if exact.TimeError == nil || *exact.TimeError < 0.099 || *exact.TimeError > 0.101 {
		t.Errorf("900 ns found of 1000: error %v", exact.TimeError)
	}
	estimated := Result{Case: Case{Expect: []Expect{findFault("cpu-hog").Expect}}}
	estimated.score([]report.Chain{chain(event.CauseCPUContention, 20, 20)}, &hogged)
	if estimated.TimeError != nil {
		t.Errorf("compared with an estimate: %g", *estimated.TimeError)
	}
}

func TestPredictionIsComparedWithARunWithoutTheFault(t *testing.T) {
	right := chain(event.CauseLockContention, 10, 12)
	right.WhatIf = &report.WhatIf{StepNS: 1_100_000}
	without := cudastub.Truth{Steps: 2000, Seconds: 2} // 1 ms a step
	r := Result{Case: Case{Expect: []Expect{findFault("lock").Expect}}}
	r.compare([]report.Chain{right}, &locked, &without)
	if r.WhatIf == nil || r.WhatIf.Error < 0.099 || r.WhatIf.Error > 0.101 {
		t.Errorf("what if: %+v", r.WhatIf)
	}
	r.WhatIf = nil
	r.compare([]report.Chain{chain(event.CauseLockContention, 10, 12)}, &locked, &without)
	r.compare([]report.Chain{{Cause: report.Cause{Kind: event.CauseGPUWait}, WhatIf: right.WhatIf}}, &locked, &without)
	if r.WhatIf != nil {
		t.Errorf("compared what was not predicted: %+v", r.WhatIf)
	}
}

func TestSumLeavesOutWhatDoesNotCount(t *testing.T) {
	single := func(fault string, x Result) Result {
		x.Case = Case{Name: fault, Expect: []Expect{findFault(fault).Expect}}
		return x
	}
	half, tenth := 0.5, 0.1
	r := Report{Results: []Result{
		single("lock", Result{
			FirstCause: true, Culprit: true, Top3: true, Path: true, Explained: 1, TimeError: &tenth,
			VerdictSec: 0.1, Baseline: &Judgement{FalseBlame: true},
		}),
		single("gil", Result{
			FirstCause: true, FalseBlame: true, VerdictSec: 0.3,
			Baseline: &Judgement{FirstCause: true, Culprit: true},
		}),
		single("gpu", Result{Disturbed: true, FalseBlame: true}),
		single("leak", Result{Skipped: "not known"}),
		{Case: Case{Name: "clean"}, FalseBlame: true, VerdictSec: 0.2, Baseline: &Judgement{FalseBlame: true}},
		{
			Case: Case{Name: "both", Expect: []Expect{findFault("lock").Expect, findFault("gpu").Expect}}, Top3: true,
			WhatIf: &WhatIf{Error: half}, VerdictSec: 0.2, Baseline: &Judgement{},
		},
	}}
	r.sum(true)
	r.Results = nil
	verdict := 0.2
	want := Report{
		Cases: 2, Controls: 1, Skipped: 1, Disturbed: 1, FirstCause: 1, Culprit: 0.5, Top3: 0.5, Path: 0.5, FalseBlames: 2,
		MedianTimeError: &tenth, TimeErrors: 1, Explained: 1, WhatIfError: &half, WhatIfs: 1, VerdictSec: &verdict,
		WorstVerdictSec: 0.3,
		Pairs:           &Pairs{Cases: 1, Both: 1},
		Baseline:        &Baseline{Rule: "cooccurrence", FirstCause: 0.5, Culprit: 0.5, FalseBlames: 2},
		ByCause: []ByCause{
			{Kind: event.CauseGPUWait, NotJudged: 1},
			{Kind: event.CauseLockContention, Cases: 2, FirstCause: 2, Culprit: 1},
			{Kind: event.CauseMemoryLeak, NotJudged: 1},
		},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
}

func TestMedian(t *testing.T) {
	if median(nil) != nil || *median([]float64{3, 1, 2}) != 2 || *median([]float64{4, 1, 2, 3}) != 2.5 {
		t.Error("median is wrong")
	}
}

func TestDatesOfChangesAreScored(t *testing.T) {
	const s = 1_000_000_000
	truth := cudastub.Truth{PID: 10, TID: 11, Injection: cudastub.Injection{FirstNS: 100 * s}}
	level := func(tid uint32, at float64) report.Change {
		return report.Change{Kind: report.ChangeLevel, TID: tid, AtNS: uint64(at * s)}
	}
	drift := level(11, 100)
	drift.Kind = report.ChangeDrift
	for name, tc := range map[string]struct {
		list []report.Change
		want ChangeDate
	}{
		"none":        {nil, ChangeDate{}},
		"right":       {[]report.Change{level(11, 100.5)}, ChangeDate{Found: true, OffSec: 0.5}},
		"another one": {[]report.Change{level(11, 90), level(11, 99)}, ChangeDate{Found: true, OffSec: 1, Further: 1}},
		"of another":  {[]report.Change{level(12, 100)}, ChangeDate{}},
		"a drift":     {[]report.Change{drift}, ChangeDate{Further: 1}},
	} {
		if got := date(tc.list, &truth); *got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, *got, tc.want)
		}
	}
	half := truth
	half.BeganNS, half.Seconds, half.InjectedNS = 90*s, 20, 2*s // of the last ten seconds
	if got := date(nil, &half); got.Cost != 0.25 {
		t.Errorf("steps are slower by %v, want 0.25", got.Cost)
	}
}

func TestChangesAreCounted(t *testing.T) {
	found := func(off float64) *ChangeDate { return &ChangeDate{Found: true, OffSec: off, Cost: 0.2} }
	r := Report{Results: []Result{
		{Change: found(3), FirstCause: true},
		{Change: found(0.5), FirstCause: true, Culprit: true},
		{Change: &ChangeDate{Further: 1, Cost: 0.1}},
		{Change: &ChangeDate{Further: 5, Cost: 0.05}},
		{Change: found(9), Disturbed: true},
		{Told: told(nil)},
		{Told: told([]report.Change{{MoreWork: "2 instead of 1 launches"}, {Between: true}, {Between: true}})},
		{Told: told([]report.Change{{Summary: "slower"}})},
		{},
	}}
	r.sum(false)
	middle, last := 1.75, 3.0
	want := &Changes{
		Cases: 3, Small: 1, Found: 2, First: 1, Dated: 1, MedianSec: &middle, P95Sec: &last, Further: 1,
		Healthy: 3, Silent: 2, MoreWork: 1, LessToDo: 1,
	}
	if d := cmp.Diff(want, r.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

func TestQuantile(t *testing.T) {
	var twenty []float64
	for i := range 20 {
		twenty = append(twenty, float64(20-i))
	}
	if quantile(nil, p95) != nil || *quantile(twenty, p95) != 19 || *quantile([]float64{7}, p95) != 7 {
		t.Error("quantile is wrong")
	}
}
