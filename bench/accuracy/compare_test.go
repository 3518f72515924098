package accuracy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/store"
)

func plan(t *testing.T, o Options) *ComparePlan {
	t.Helper()
	if o.CPUs == nil {
		o.CPUs = []int{0, 1}
	}
	p, err := PlanComparisons(&o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var ignorePlan = cmpopts.IgnoreUnexported(CompareRun{}, Pair{})

func TestComparisonsAreDrawnFromTheSeed(t *testing.T) {
	if d := cmp.Diff(plan(t, Options{Seed: 7}), plan(t, Options{Seed: 7}), ignorePlan); d != "" {
		t.Error(d)
	}
	if cmp.Equal(plan(t, Options{Seed: 7}), plan(t, Options{Seed: 8}), ignorePlan) {
		t.Error("another seed draws the same runs")
	}
	all, some := plan(t, Options{Seed: 7}), plan(t, Options{Seed: 7, Only: []string{"copies"}})
	if len(some.Pairs) != drawsOfEach || !slices.ContainsFunc(all.Runs, func(c CompareRun) bool {
		return cmp.Equal(c, some.Runs[0], ignorePlan)
	}) {
		t.Errorf("a selection is drawn differently: %+v", some)
	}
	_, err := PlanComparisons(&Options{Only: []string{"nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "waits") {
		t.Errorf("error is %v", err)
	}
}

func TestPairsAreOfDifferentRuns(t *testing.T) {
	p := plan(t, Options{Seed: 1})
	equal, known := 0, 0
	seen := map[[2]int]bool{}
	for _, x := range p.Pairs {
		pair := [2]int{min(x.a, x.b), max(x.a, x.b)}
		a, b := p.Runs[x.a], p.Runs[x.b]
		if x.a == x.b || seen[pair] || a.Name == b.Name {
			t.Errorf("%s: runs %d and %d", x.Name, x.a, x.b)
		}
		seen[pair] = true
		if x.Equal() != slices.Equal(a.Args, b.Args) {
			t.Errorf("%s: %v and %v", x.Name, a.Args, b.Args)
		}
		if x.Equal() {
			equal++
		} else {
			known++
		}
	}
	if equal < 40 || known != drawsOfEach*len(knownDifferences) {
		t.Errorf("%d equal pairs, %d with a difference", equal, known)
	}
}

// trainer is a run of so many steps of 1 ms and more waits of 0.5 ms.
func trainer(t *testing.T, pid, waits int) *ran {
	t.Helper()
	const steps, sync = 10_000, 500_000
	op, ok := event.ByName("cudaStreamSynchronize")
	end, ok2 := event.ByName("cudaMemcpyAsync")
	if !ok || !ok2 {
		t.Fatal("no such operation")
	}
	n := uint64(steps * waits)
	length := uint64(steps * (1_000_000 + waits*sync))
	r := &ran{ComparedRun: ComparedRun{CompareRun: CompareRun{Name: "x"}}}
	r.truth = cudastub.Truth{
		PID: pid, TID: pid, Steps: steps, Seconds: float64(length) / 1e9,
		Threads: []cudastub.ThreadTruth{{TID: pid, Steps: steps}},
		Made: map[string]cudastub.Made{
			"cudaStreamSynchronize": {
				Calls: int64(n), Inside: cudastub.Times{TotalNS: n * (sync - 1000)},
				Around: cudastub.Times{TotalNS: n * (sync + 1000)},
			},
		},
	}
	p := diagnose.Profile{Thread: event.Thread{PID: uint32(pid), TID: uint32(pid)}, Rank: -1, Count: steps}
	p.From, p.To = 1e18, 1e18+length
	p.Steps = ledger.Steps{Op: end.Op, Calls: []ledger.StepCall{{Op: op.Op, N: waits}, {Op: end.Op, N: 1}}}
	stat := &store.OpStat{Thread: p.Thread, Op: op.Op, Calls: n, SumNS: n * sync}
	stat.Ledger.NS[event.Ioctl] = n * sync
	p.Ops = append(p.Ops, stat, &store.OpStat{Thread: p.Thread, Op: end.Op, Calls: steps})
	for s := range length / 1e9 {
		p.Series = append(p.Series,
			store.OpSecond{Second: 1e9 + s, Thread: p.Thread, Op: end.Op, Calls: steps * 1e9 / length})
	}
	r.side = &compare.Side{Report: &report.Report{}, Profiles: []diagnose.Profile{p}}
	return r
}

func TestAPairIsScoredByTheProgramsOwnNumbers(t *testing.T) {
	pair := Pair{Name: "waits 1", Of: "waits", Expect: []Item{moreWaits}}
	c := judgePair(pair, trainer(t, 1, 2), trainer(t, 2, 4))
	if !c.First || !c.Right() || c.TrueNS != 1e6 || len(c.Amounts) != 1 || c.Amounts[0].Off != 0 ||
		c.Amounts[0].FoundNS != 1e6 {
		t.Errorf("two more waits: %+v", c)
	}
	other := trainer(t, 2, 4)
	other.truth.Seconds *= 1.2 // the program says more than the recording
	if c := judgePair(pair, trainer(t, 1, 2), other); !c.First || c.Right() || c.AmountRight() || *c.StepOff < 0.3 {
		t.Errorf("a wrong difference: %+v", c)
	}
	wrong := Pair{Expect: []Item{moreLaunches}}
	if c := judgePair(wrong, trainer(t, 1, 2), trainer(t, 2, 4)); c.First || c.Right() {
		t.Errorf("another part: %+v", c)
	}
	cause := Pair{Expect: []Item{moreWaits}, Cause: event.CauseCPUContention, Culprit: "gc"}
	named := trainer(t, 2, 4)
	named.side.Report.Chains = []report.Chain{{
		LostNS: 10_000 * 500_000, Effect: report.Effect{PID: 2, TID: 2},
		Cause: report.Cause{Kind: event.CauseCPUContention, Process: "gc", PID: 3, TID: 3},
	}}
	if c := judgePair(cause, trainer(t, 1, 2), named); !c.Right() || c.CauseRight == nil || !*c.CauseRight {
		t.Errorf("a cause: %+v", c)
	}
	if c := judgePair(cause, trainer(t, 1, 2), trainer(t, 2, 4)); c.Right() || *c.CauseRight {
		t.Errorf("without its cause: %+v", c)
	}
	if c := judgePair(pair, trainer(t, 1, 2), trainer(t, 2, 2)); c.Skipped == "" {
		t.Errorf("a difference that the program did not feel is judged: %+v", c)
	}
}

func TestWhatIsNotJudgedIsNotCounted(t *testing.T) {
	known, equal := Pair{Expect: []Item{moreWaits}}, Pair{Name: "equal 1", Of: equalName}
	busy, stolen, skipped := trainer(t, 3, 4), trainer(t, 4, 4), &ran{skipped: "needs 2 CPUs"}
	busy.disturbed, stolen.Steal = true, 0.1
	r := &CompareReport{Results: []Compared{
		judgePair(known, trainer(t, 1, 2), trainer(t, 2, 4)),
		judgePair(known, trainer(t, 1, 2), busy),
		judgePair(known, trainer(t, 1, 2), stolen),
		judgePair(known, trainer(t, 1, 2), skipped),
		judgePair(equal, trainer(t, 1, 2), trainer(t, 2, 2)),
		judgePair(equal, trainer(t, 1, 2), trainer(t, 2, 3)), // which is not silent
	}}
	r.sum()
	want := &CompareReport{
		Known: Part{2, 2}, First: Part{2, 2}, Amount: Part{1, 1}, Equal: Part{1, 2}, Skipped: 1, Disturbed: 1,
		LargestPct: 25, MedianOff: new(float64), Results: r.Results,
	}
	if d := cmp.Diff(want, r, cmpopts.IgnoreFields(CompareReport{}, "Results")); d != "" {
		t.Error(d)
	}
}

// A wait of the program's own for a CPU is compared with what the kernel says of the thread.
func TestTimeWithoutACPUIsTheThreadsOwn(t *testing.T) {
	pair := &compare.Thread{Parts: []compare.Part{
		{What: "between calls", Class: "runq", NS: 700},
		{What: "time in calls", Op: "x", Class: "runq", NS: 200},
		{What: "time in calls", Op: "x", Class: "ioctl", NS: 5000},
	}}
	a, b := &cudastub.ThreadTruth{Steps: 10, RunnableNS: 1000}, &cudastub.ThreadTruth{Steps: 20, RunnableNS: 22_000}
	got := amount(waitingForCPU, pair, [2]*cudastub.Truth{}, [2]*cudastub.ThreadTruth{a, b})
	if got.LowNS != 1000 || got.HighNS != 1000 || got.FoundNS != 900 || got.Off < 0.09 || got.Off > 0.11 {
		t.Errorf("%+v", got)
	}
}
