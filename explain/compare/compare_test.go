package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

const (
	begin = 1_700_000_000 * second // Unix ns
	ms    = uint64(1_000_000)

	second = 1000 * ms
)

func op(t *testing.T, name string) event.Op {
	t.Helper()
	info, ok := event.ByName(name)
	if !ok {
		t.Fatalf("there is no operation %s", name)
	}
	return info.Op
}

// work is what a thread of a test does in each step.
type work struct {
	launches, syncs int
	sync            uint64 // ns of each wait, asleep in the driver
	runq            uint64 // ns between calls
	cpu             uint64 // ns between calls, on a CPU
	spread          float64
}

const launch = 10_000 // ns of each launch, on a CPU

func (w *work) step() uint64 {
	return uint64(w.launches)*launch + uint64(w.syncs)*w.sync + w.runq + w.cpu
}

// side returns a recording of some seconds in which a thread does that work.
func side(t *testing.T, pid uint32, seconds int, w work, r *rand.Rand) *compare.Side {
	t.Helper()
	p := diagnose.Profile{
		Thread: event.Thread{PID: pid, TID: pid}, Process: "trainer", Name: "trainer", Rank: -1, From: begin,
		To: begin + uint64(seconds)*second,
	}
	launchOp, syncOp, copyOp := op(t, "cudaLaunchKernel"), op(t, "cudaStreamSynchronize"), op(t, "cudaMemcpyAsync")
	for s := range seconds {
		n := float64(second) / float64(w.step())
		if r != nil {
			n *= 1 + w.spread*r.NormFloat64()
		}
		steps := uint64(math.Round(n))
		p.Count += steps
		for o, n := range map[event.Op]uint64{
			launchOp: steps * uint64(w.launches), syncOp: steps * uint64(w.syncs), copyOp: steps,
		} {
			p.Series = append(p.Series,
				store.OpSecond{Second: begin/second + uint64(s), Thread: p.Thread, Op: o, Calls: n})
		}
	}
	n := p.Count
	add := func(o event.Op, calls, sum uint64, class event.Class, off uint64) {
		st := &store.OpStat{Thread: p.Thread, Op: o, Calls: calls, SumNS: sum, First: p.From, Last: p.To}
		if class < event.NumClasses {
			st.Ledger.NS[class] = off
		}
		p.Ops = append(p.Ops, st)
	}
	add(launchOp, n*uint64(w.launches), n*uint64(w.launches)*launch, event.OnCPU, 0)
	add(syncOp, n*uint64(w.syncs), n*uint64(w.syncs)*w.sync, event.Ioctl, n*uint64(w.syncs)*w.sync)
	add(copyOp, n, 0, event.OnCPU, 0)
	p.Between.NS[event.RunQueue] = n * w.runq
	p.Steps = ledger.Steps{Op: copyOp, Calls: []ledger.StepCall{
		{Op: launchOp, N: w.launches}, {Op: syncOp, N: w.syncs}, {Op: copyOp, N: 1},
	}}
	if w.syncs == 1 {
		p.Steps.Op = syncOp
	}
	return &compare.Side{
		Name: fmt.Sprint(pid), Profiles: []diagnose.Profile{p},
		Report: &report.Report{Window: report.Window{FromNS: p.From, ToNS: p.To}},
	}
}

var normal = work{launches: 20, syncs: 1, sync: 600_000, cpu: 200_000, spread: 0.01}

func TestMoreWaitsInAStepAreTheFirstPart(t *testing.T) {
	other := normal
	other.syncs, other.sync = 17, 600_000
	r := compare.Compare(side(t, 1, 20, normal, nil), side(t, 2, 20, other, nil))
	if len(r.Threads) != 1 || !r.Changed {
		t.Fatalf("%+v", r)
	}
	x := r.Threads[0]
	if x.Unit != "step" || math.Abs(x.A.UnitNS-1e6) > 1e4 || math.Abs(x.B.UnitNS-10.6e6) > 1e5 {
		t.Errorf("a %s takes %g, then %g ns", x.Unit, x.A.UnitNS, x.B.UnitNS)
	}
	p := x.Parts[0]
	if p.What != "calls" || p.Op != "cudaStreamSynchronize" || p.A != 1 || p.B != 17 ||
		math.Abs(float64(p.NS)-16*600_000) > 1e5 {
		t.Errorf("first part: %+v", p)
	}
	if !strings.Contains(r.Verdict, "17 instead of 1 cudaStreamSynchronize") ||
		!strings.Contains(r.Verdict, "10.6 times as long") {
		t.Errorf("verdict: %s", r.Verdict)
	}
	if !r.SlowerThan(5) || r.SlowerThan(1000) {
		t.Error("the limit is not compared with the difference")
	}
	back := compare.Compare(side(t, 2, 20, other, nil), side(t, 1, 20, normal, nil))
	if back.SlowerThan(0) || !back.Changed || back.Threads[0].DifferenceNS != -x.DifferenceNS {
		t.Errorf("the other way round: %+v", back.Threads[0])
	}
}

func TestTimeIsSplitByWhatTheThreadDid(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*work)
		want   compare.Part
	}{
		"longer waits": {
			func(w *work) { w.sync *= 2 },
			compare.Part{What: "time in calls", Op: "cudaStreamSynchronize", Class: "ioctl", NS: 600_000},
		},
		"run queue": {
			func(w *work) { w.runq = 400_000 },
			compare.Part{What: "between calls", Class: "runq", NS: 400_000},
		},
		"computes": {
			func(w *work) { w.cpu += 500_000 },
			compare.Part{What: "between calls", Class: "on_cpu", NS: 500_000},
		},
		"more launches": {
			func(w *work) { w.launches = 40 },
			compare.Part{What: "calls", Op: "cudaLaunchKernel", NS: 200_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := normal
			tt.change(&other)
			x := compare.Compare(side(t, 1, 20, normal, nil), side(t, 2, 20, other, nil)).Threads[0]
			p := x.Parts[0]
			if !x.Changed || p.What != tt.want.What || p.Op != tt.want.Op || p.Class != tt.want.Class ||
				math.Abs(float64(p.NS-tt.want.NS)) > 0.02*float64(tt.want.NS) {
				t.Errorf("changed: %v, first part %+v, want %+v", x.Changed, p, tt.want)
			}
		})
	}
}

func TestTimeOnACPUIsNamedByTheCodeOfTheLongerSide(t *testing.T) {
	other := normal
	other.cpu += 500_000
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, other, nil)
	a.Profiles[0].Code = &report.Code{Samples: 20, Share: 0.8, Function: "load of libdata.so"}
	b.Profiles[0].Code = &report.Code{Samples: 900, Share: 0.9, Function: "gc_collect_main of python3"}
	for want, r := range map[string]*compare.Result{
		"(in B 90 % was in gc_collect_main of python3)": compare.Compare(a, b),
		"(in A 90 % was in gc_collect_main of python3)": compare.Compare(b, a),
	} {
		p := r.Threads[0].Parts[0]
		if p.Code == nil || p.Code.Samples != 900 || !strings.HasSuffix(p.Text, want) || !strings.HasSuffix(r.Verdict, want) {
			t.Errorf("%+v, verdict %q, want %q", p, r.Verdict, want)
		}
	}
	b.Profiles[0].Code = nil
	if p := compare.Compare(a, b).Threads[0].Parts[0]; p.Code != nil || strings.Contains(p.Text, "(in") {
		t.Errorf("%+v", p)
	}
}

// Whatever changes, the parts add up to the difference, which is that of the mean units.
func TestPartsAddUpToTheDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() work {
		return work{
			launches: 1 + r.IntN(50), syncs: 1 + r.IntN(20), sync: uint64(r.IntN(2_000_000)), runq: uint64(r.IntN(500_000)),
			cpu: 1000 + uint64(r.IntN(500_000)), spread: r.Float64() / 5,
		}
	}
	for range 300 {
		for _, x := range compare.Compare(side(t, 1, 12, random(), r), side(t, 2, 9, random(), r)).Threads {
			sum := x.RestNS
			for _, p := range x.Parts {
				sum += p.NS
			}
			if sum != x.DifferenceNS || math.Abs(float64(x.DifferenceNS)-(x.B.UnitNS-x.A.UnitNS)) > 2 {
				t.Fatalf("parts of %d ns, difference %d ns, units %g and %g ns", sum, x.DifferenceNS, x.A.UnitNS, x.B.UnitNS)
			}
		}
	}
}

// Runs of the same program differ by chance. The rate at which that is called a change is the chosen one.
func TestEqualRunsDifferByNoMoreThanTheNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, spread := range []float64{0, 0.01, 0.05, 0.2} {
		w := normal
		w.spread = spread
		changed := 0
		const pairs = 1000
		for range pairs {
			if compare.Compare(side(t, 1, 6+r.IntN(20), w, r), side(t, 2, 6+r.IntN(20), w, r)).Changed {
				changed++
			}
		}
		if changed > pairs/200 {
			t.Errorf("with a spread of %g, %d of %d equal pairs are said to differ", spread, changed, pairs)
		}
	}
	few := compare.Compare(side(t, 1, 3, normal, r), side(t, 2, 3, normal, r)).Threads[0]
	if few.NoisePct < 10 {
		t.Errorf("from 3 s, a noise of %g %% is claimed", few.NoisePct)
	}
}

func TestThreadsArePairedByWhatTheyDo(t *testing.T) {
	join := func(sides ...*compare.Side) *compare.Side {
		for _, s := range sides[1:] {
			sides[0].Profiles = append(sides[0].Profiles, s.Profiles...)
		}
		return sides[0]
	}
	rank := func(s *compare.Side, n int) *compare.Side {
		s.Profiles[0].Rank = n
		return s
	}
	named := func(s *compare.Side, process string) *compare.Side {
		s.Profiles[0].Process, s.Profiles[0].Name = process, process
		return s
	}
	slow := normal
	slow.sync *= 3
	pairs := func(r *compare.Result) (list []string) {
		for _, x := range r.Threads {
			list = append(list, fmt.Sprint(x.A.PID, " ", x.B.PID))
		}
		slices.Sort(list)
		return list
	}
	a := join(rank(side(t, 10, 8, normal, nil), 0), rank(side(t, 11, 8, normal, nil), 1))
	b := join(rank(side(t, 20, 8, normal, nil), 1), rank(side(t, 21, 8, slow, nil), 0))
	if got := pairs(compare.Compare(a, b)); !slices.Equal(got, []string{"10 21", "11 20"}) {
		t.Errorf("ranks: %v", got)
	}
	a = join(named(side(t, 10, 8, normal, nil), "train"), named(side(t, 11, 8, slow, nil), "eval"))
	b = join(named(side(t, 20, 8, slow, nil), "train"), named(side(t, 21, 8, normal, nil), "eval"))
	if got := pairs(compare.Compare(a, b)); !slices.Equal(got, []string{"10 20", "11 21"}) {
		t.Errorf("names: %v", got)
	}
	a, b = side(t, 10, 8, normal, nil), join(side(t, 20, 8, normal, nil), side(t, 21, 2, normal, nil))
	r := compare.Compare(a, b)
	if got := pairs(r); !slices.Equal(got, []string{"10 20"}) || len(r.OnlyB) != 1 || r.OnlyB[0].PID != 21 {
		t.Errorf("one more: %v, %+v", got, r.OnlyB)
	}
	empty := &compare.Side{Report: &report.Report{}}
	if r := compare.Compare(a, empty); r.Changed || len(r.OnlyA) != 1 || !strings.Contains(r.Verdict, "nothing to compare") {
		t.Errorf("with nothing: %+v", r)
	}
}

func TestNewCausesAreListed(t *testing.T) {
	slow := normal
	slow.runq = 400_000
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, slow, nil)
	steps := b.Profiles[0].Count
	b.Report.Chains = []report.Chain{
		{
			Summary: "trainer waited for its CPU", LostNS: steps * 400_000, Effect: report.Effect{PID: 2, TID: 2},
			Cause: report.Cause{Kind: "cpu_contention", Process: "backup", PID: 9, TID: 9},
		},
		{LostNS: 100 * second, Effect: report.Effect{PID: 7, TID: 7}, Cause: report.Cause{Kind: "lock_contention"}},
	}
	x := compare.Compare(a, b).Threads[0]
	if len(x.Causes) != 1 || x.Causes[0].State != "new" || x.Causes[0].Who != "backup" || x.Causes[0].BNS != 400_000 {
		t.Errorf("causes: %+v", x.Causes)
	}
	x = compare.Compare(b, a).Threads[0]
	if len(x.Causes) != 1 || x.Causes[0].State != "gone" || x.Causes[0].Summary == "" {
		t.Errorf("the other way round: %+v", x.Causes)
	}
}

func TestWarmUpIsLeftOutIfItMatters(t *testing.T) {
	s := side(t, 1, 20, normal, nil)
	for _, tt := range []struct{ warm, from uint64 }{
		{10 * ms, 0}, {3 * second, begin + 3*second}, {3*second + 1, begin + 4*second}, {15 * second, 0},
	} {
		s.Profiles[0].Warmup = tt.warm
		from, left := s.AfterWarmup()
		if left == 0 {
			from = 0
		}
		if from != tt.from {
			t.Errorf("after a warm-up of %d ns from %d, want %d", tt.warm, from, tt.from)
		}
	}
}

func TestTextSaysWhatChanged(t *testing.T) {
	other := normal
	other.syncs = 6
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, other, nil)
	a.Facts = []compare.Fact{{Of: compare.Host, What: "CPUs", Text: "8"}, {Of: compare.Host, What: "kernel", Text: "6.1"}}
	b.Facts = []compare.Fact{{Of: compare.Host, What: "CPUs", Text: "4"}, {Of: compare.Host, What: "kernel"}}
	var out strings.Builder
	if err := compare.WriteText(&out, compare.Compare(a, b), 80); err != nil {
		t.Fatal(err)
	}
	want := `trainer: a step takes 4 ms instead of 1 ms, 4.0 times as long, most of it: 6
instead of 1 cudaStreamSynchronize
A  1, 2023-11-14 22:13:20 to 22:13:40 UTC (20 s), 0 calls
B  2, 2023-11-14 22:13:20 to 22:13:40 UTC (20 s), 0 calls

trainer (A: pid 1, tid 1; B: pid 2, tid 2): a step takes 4 ms instead of 1 ms,
4.0 times as long
  A does 20 cudaLaunchKernel, 1 cudaStreamSynchronize, 1 cudaMemcpyAsync
  B does 20 cudaLaunchKernel, 6 cudaStreamSynchronize, 1 cudaMemcpyAsync
      +3 ms  6 instead of 1 cudaStreamSynchronize
`
	got := out.String()
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "host  CPUs: 8, then 4\n") {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestFactsThatDiffer has a fact of each kind: texts, means that vary from run to run, and long lines that differ in
// a part.
func TestFactsThatDiffer(t *testing.T) {
	fact := func(what, text string, value, least float64) compare.Fact {
		return compare.Fact{Of: compare.Host, What: what, Text: text, Value: value, Least: least}
	}
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, normal, nil)
	a.Facts = []compare.Fact{
		fact("kernel", "6.1", 0, 0), fact("driver", "570.1", 0, 0), fact("load", "20 %", 20, 10), fact("clock", "1980 MHz", 1980, 60),
		fact("only in A", "1", 0, 0),
	}
	b.Facts = []compare.Fact{
		fact("kernel", "6.1", 0, 0), fact("driver", "580.2", 0, 0), fact("load", "29 %", 29, 10), fact("clock", "1410 MHz", 1410, 42),
	}
	a.Profiles[0].Command = "python train.py --data /data/imagenet --batch-size 64 --workers 4 --out runs/1"
	b.Profiles[0].Command = "python train.py --data /data/imagenet --batch-size 96 --workers 2 --out runs/1"
	a.Profiles[0].CPUs, b.Profiles[0].CPUs = "0-7", "0-3"
	a.Profiles[0].Libraries = []store.Library{
		{Name: "libcudart.so.12", Version: "12.4.127", BuildID: "0123456789abcdef"},
		{Name: "libcublas.so.12", Version: "12.4.5", BuildID: "aaaa"},
		{Name: "libnccl.so.2", Version: "2", Size: 100},
	}
	b.Profiles[0].Libraries = []store.Library{
		{Name: "libcudart.so.13", Version: "13.0.48", BuildID: "fedcba9876543210"},
		{Name: "libcublas.so.12", Version: "12.4.5", BuildID: "aaaa"},
		{Name: "libnccl.so.2", Version: "2", Size: 200},
	}
	want := []compare.Change{
		{Of: "host", What: "driver", A: "570.1", B: "580.2"},
		{Of: "host", What: "clock", A: "1980 MHz", B: "1410 MHz"},
		{Of: "program", What: "command line of trainer", A: "… 64 --workers 4 …", B: "… 96 --workers 2 …"},
		{Of: "program", What: "CPUs allowed of trainer", A: "0-7", B: "0-3"},
		{Of: "program", What: "libcudart of trainer", A: "12.4.127 (build 01234567)", B: "13.0.48 (build fedcba98)"},
		{Of: "program", What: "libnccl of trainer", A: "2 (100 bytes)", B: "2 (200 bytes)"},
	}
	if got := compare.Compare(a, b).Changes; !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestThreadsOfAJobArePairedByMachine has two machines whose threads do the same, listed in another order on the
// other side.
func TestThreadsOfAJobArePairedByMachine(t *testing.T) {
	job := func(nodes ...string) *compare.Side {
		s := side(t, 1, 20, normal, nil)
		one := s.Profiles[0]
		s.Profiles = nil
		for _, n := range nodes {
			one.Node = n
			s.Profiles = append(s.Profiles, one)
		}
		s.Profiles[0].PID, s.Profiles[0].TID = 7, 7
		return s
	}
	for _, p := range compare.Compare(job("n1", "n2"), job("n2", "n1")).Threads {
		if p.A.PID == p.B.PID {
			t.Errorf("%d of one machine was paired with %d of another one", p.A.PID, p.B.PID)
		}
	}
}

// TestKernelsByName has kernels that came, went, and are launched more or less often; exactly, and estimated from a
// sample.
func TestKernelsByName(t *testing.T) {
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, normal, nil)
	n := a.Profiles[0].Count // steps
	all := func(calls uint64) diagnose.KernelLaunches {
		return diagnose.KernelLaunches{Calls: calls, Stored: calls}
	}
	a.Profiles[0].Kernels = map[string]diagnose.KernelLaunches{
		"same": all(10 * n), "softmax": all(2 * n), "old": all(n), "rare": all(n / 100), "few": all(4 * n),
		"sampled": {Calls: 5 * n, Stored: 100}, "sampled_more": {Calls: n, Stored: 400}, "seldom": {Calls: n, Stored: 3},
	}
	b.Profiles[0].Kernels = map[string]diagnose.KernelLaunches{
		"same": all(10 * n), "softmax": all(6 * n), "flash": all(3 * n), "rare": all(n / 90), "few": all(3 * n),
		"sampled": {Calls: 6 * n, Stored: 120}, "sampled_more": {Calls: 3 * n, Stored: 1200},
	}
	got := compare.Compare(a, b).Threads[0].Kernels
	want := []compare.Kernel{
		{Name: "softmax", State: "more", A: 2, B: 6},
		{Name: "flash", State: "new", B: 3},
		{Name: "sampled_more", State: "more", A: 1, B: 3, Estimate: true},
		{Name: "few", State: "fewer", A: 4, B: 3},
		{Name: "old", State: "gone", A: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestProgramsAreComparedPairByPair has a job of two ranks, each with its own command line: the same on both sides,
// and then another one for one of them.
func TestProgramsAreComparedPairByPair(t *testing.T) {
	job := func(more string) *compare.Side {
		s := side(t, 1, 20, normal, nil)
		one := s.Profiles[0]
		s.Profiles = nil
		for rank := range 2 {
			p := one
			p.PID, p.TID, p.Rank = uint32(10+rank), uint32(10+rank), rank
			p.Command = fmt.Sprintf("trainer --rank %d", rank)
			if rank == 1 {
				p.Command += more
			}
			s.Profiles = append(s.Profiles, p)
		}
		return s
	}
	if got := compare.Compare(job(""), job("")).Changes; len(got) != 0 {
		t.Errorf("equal jobs differ: %+v", got)
	}
	want := []compare.Change{
		{Of: "program", What: "command line of trainer", A: "trainer --rank 1", B: "trainer --rank 1 --fast"},
	}
	if got := compare.Compare(job(""), job(" --fast")).Changes; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Settings of a program that differ are reported, also if one side does not have them, but not if they were not
// recorded.
func TestSettingsThatDifferAreReported(t *testing.T) {
	of := func(settings map[string]string) *compare.Side {
		s := side(t, 1, 20, normal, nil)
		s.Profiles[0].Settings = settings
		return s
	}
	a := map[string]string{"OMP_NUM_THREADS": "8", "rlimit.nofile": "1024"}
	b := map[string]string{"rlimit.nofile": "1024", "CUDA_LAUNCH_BLOCKING": "1"}
	want := []compare.Change{
		{Of: "program", What: "CUDA_LAUNCH_BLOCKING of trainer", A: "not set", B: "1"},
		{Of: "program", What: "OMP_NUM_THREADS of trainer", A: "8", B: "not set"},
	}
	if got := compare.Compare(of(a), of(b)).Changes; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := compare.Compare(of(a), of(nil)).Changes; len(got) != 0 {
		t.Errorf("settings that were not recorded differ: %+v", got)
	}
}
