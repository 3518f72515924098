package diagnose_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/eventtext"
)

func shuffle[T any](list []T) {
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestDiagnoseIgnoresTheOrderOfItsInput(t *testing.T) {
	t.Parallel()
	for _, path := range cases(t) {
		in := diagnosetest.InputOf(read(t, path))
		in.PerProcess = true
		want := diagnose.Diagnose(in)
		shuffle(in.Calls)
		for _, s := range in.Spans {
			shuffle(s)
		}
		shuffle(in.Spans)
		shuffle(in.Gaps)
		shuffle(in.OffCPU)
		shuffle(in.ThreadTimes)
		shuffle(in.Ops)
		shuffle(in.GapStats)
		shuffle(in.Processes)
		shuffle(in.Threads)
		shuffle(in.Lives)
		shuffle(in.Throttles)
		shuffle(in.Dropped)
		shuffle(in.Series)
		shuffle(in.GPUs)
		shuffle(in.GPUMemory)
		shuffle(in.Xids)
		shuffle(in.Busy)
		shuffle(in.Memory)
		shuffle(in.MemorySites)
		shuffle(in.Reclaims)
		shuffle(in.Collectives)
		shuffle(in.RequestSums)
		shuffle(in.Connections)
		if d := cmp.Diff(want, diagnose.Diagnose(in)); d != "" {
			t.Fatalf("%s: another order gives another report:\n%s", path, d)
		}
	}
}

// A control must give no finding and no unexplained time.
func TestControlsAreSilent(t *testing.T) {
	for _, name := range []string{
		"healthy", "idle", "gpu_wait_uniform", "few_calls", "control_one_sync", "control_large_copies",
		"control_graph_warmup", "control_launch_busy", "memory_cache", "memory_loading", "memory_sawtooth", "alloc_warmup",
		"alloc_burst",
		"memory_pressure_little", "network_wait_server", "collective_even", "control_in_flight", "idle_timeouts",
		"control_decode_eager", "control_decode_thinned", "control_graph_waits_attached", "control_waits_unseen_launches",
		"control_turns",
	} {
		_, r := diagnosed(t, filepath.Join("testdata", name+".txtar"))
		if len(r.Chains) != 0 || len(r.NotExplained) != 0 {
			t.Errorf("%s: %d chains and %d unexplained, want silence", name, len(r.Chains), len(r.NotExplained))
		}
	}
}

// A fault that has its own case must be reported first and explained.
func TestFaultsComeFirst(t *testing.T) {
	for _, kind := range event.Causes {
		path := filepath.Join("testdata", kind+".txtar")
		if !slices.Contains(cases(t), path) || kind == event.CauseUnknown {
			continue
		}
		_, r := diagnosed(t, path)
		if len(r.Chains) != 1 || r.Chains[0].Cause.Kind != kind || r.Chains[0].ExplainedPct < 80 {
			t.Errorf("%s: %s", kind, checkedText(r))
		}
	}
}

// check asserts what must be true of every report.
func check(t *testing.T, in *diagnose.Input, r *report.Report) {
	t.Helper()
	pct := func(v float64) {
		t.Helper()
		if !(v >= 0 && v <= 100) {
			t.Errorf("%v is no percentage", v)
		}
	}
	for _, c := range r.Chains {
		pct(c.ExplainedPct)
		pct(c.LostPct)
		if c.ExplainedPct < 50 {
			t.Errorf("%s names a culprit for %.0f %%", c.Summary, c.ExplainedPct)
		}
		if in.SelfPID != 0 && c.Cause.PID == in.SelfPID && c.Cause.PID != c.Effect.PID {
			t.Errorf("the tracer is blamed: %s", c.Summary)
		}
		if !slices.Contains(event.Causes, c.Cause.Kind) || c.Summary == "" || len(c.Path) == 0 ||
			len(c.Recommendations) == 0 {
			t.Errorf("incomplete chain: %+v", c)
		}
	}
	worstFirst := func(a, b report.Chain) int { return event.CompareSeverity(a.Severity, b.Severity) }
	if !slices.IsSortedFunc(r.Chains, worstFirst) {
		t.Errorf("a chain stands above one that is more severe: %s", r.Verdict)
	}
	for _, n := range r.NotExplained {
		pct(n.ExplainedPct)
		pct(n.LostPct)
		if n.Why == "" {
			t.Errorf("no reason given: %+v", n)
		}
	}
}

func TestReportsAreSound(t *testing.T) {
	kinds := map[store.EventKind]int{}
	for _, path := range cases(t) {
		in, r := diagnosed(t, path)
		check(t, in, r)
		checkSums(t, path, in, r)
		checkEvidence(t, path, in, r, kinds)
		for _, c := range r.Chains {
			checkWords(t, path, &c)
		}
	}
	for _, k := range []store.EventKind{store.CallEvent, store.OffCPUEvent, store.GapEvent, store.CollectiveEvent} {
		if kinds[k] == 0 {
			t.Errorf("no case names an event of kind %q as evidence", k)
		}
	}
}

// checkWords asserts that slow calls are at most all calls, and that a finding that is not about
// slow calls has none.
func checkWords(t *testing.T, path string, c *report.Chain) {
	t.Helper()
	if e := &c.Effect; e.Calls > 0 && e.SlowCalls > e.Calls {
		t.Errorf("%s: %d of %d %s calls were slow", path, e.SlowCalls, e.Calls, e.Op)
	}
	many := []string{event.CauseImplicitSync, event.CauseLaunchBound}
	if slices.Contains(many, c.Cause.Kind) && c.Effect.SlowCalls > 0 {
		t.Errorf("%s: %s is about many calls, not about %d slow ones", path, c.Cause.Kind, c.Effect.SlowCalls)
	}
}

// checkSums asserts that no time is claimed twice: what one thread lost to all causes together fits
// into its time.
func checkSums(t *testing.T, path string, in *diagnose.Input, r *report.Report) {
	t.Helper()
	first, last, lost := map[event.Thread]uint64{}, map[event.Thread]uint64{}, map[event.Thread]uint64{}
	for _, o := range in.Ops {
		if f := first[o.Thread]; f == 0 || o.First < f {
			first[o.Thread] = o.First
		}
		last[o.Thread] = max(last[o.Thread], o.Last)
	}
	room := event.SyscallsNamed(in.Arch, "write writev sendto sendmsg")
	for i := range in.OffCPU { // what kept a thread from its next call, which did not come
		o := &in.OffCPU[i]
		full := (o.Class == event.Pipe || o.Class == event.Network) && room[o.Syscall]
		if o.Dispatch && o.Op == 0 && full && o.Duration-o.RunQueue >= 1e9 && last[o.Thread] != 0 {
			last[o.Thread] = max(last[o.Thread], o.Start+o.Duration)
		}
	}
	for _, c := range r.Chains {
		if c.Cause.Kind == event.CauseHang { // after the thread's last call that returned
			continue
		}
		lost[event.Thread{PID: c.Effect.PID, TID: c.Effect.TID}] += c.LostNS
	}
	for _, n := range r.NotExplained {
		lost[event.Thread{PID: n.Effect.PID, TID: n.Effect.TID}] += n.LostNS
	}
	for th, ns := range lost {
		if wall := last[th] - first[th]; ns > wall {
			t.Errorf("%s: thread %d lost %d ns of %d", path, th.TID, ns, wall)
		}
	}
	for _, w := range r.Workloads {
		var sum uint64
		for _, p := range w.Account {
			sum += p.NS
		}
		if sum > w.MeanNS || float64(w.MeanNS-sum) > 0.01*float64(w.MeanNS)+float64(len(w.Account)+1) {
			t.Errorf("%s: the parts of a step of thread %d add up to %d ns of %d: %+v", path, w.TID, sum, w.MeanNS, w.Account)
		}
	}
}

func FuzzDiagnose(f *testing.F) {
	for _, path := range cases(f) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		// Two rounds of each loop are enough to mutate.
		var short []string
		for l := range strings.Lines(section(a, "input")) {
			if w := strings.Fields(l); len(w) > 1 && w[0] == "repeat" {
				l = strings.Replace(l, w[1], "2", 1)
			}
			short = append(short, l)
		}
		f.Add(strings.Join(short, ""))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 || strings.Count(text, "repeat") > 8 {
			t.Skip("too large")
		}
		for l := range strings.Lines(text) {
			if w := strings.Fields(l); len(w) > 1 && w[0] == "repeat" && len(w[1]) > 1 {
				t.Skip("too large")
			}
		}
		rec, err := eventtext.Parse(text)
		if err != nil {
			return
		}
		in := diagnosetest.InputOf(rec)
		in.PerProcess = true
		check(t, in, diagnose.Diagnose(in))
	})
}

// reader is a store in memory. Its visitors reuse the value that they pass, as the contract allows.
type reader struct {
	store.Reader
	in  *diagnose.Input
	err error
}

func (r reader) Summary(context.Context) (store.Summary, error) {
	return store.Summary{Node: "n1", First: 5, Last: 99, Losses: r.in.Losses, Sessions: []store.Session{{CPUs: 4}}}, nil
}

func (r reader) Tables(_ context.Context, _ store.Window, lists ...any) error {
	for _, list := range lists {
		switch l := list.(type) {
		case *store.Tables: // what has visitors is not in it
			calls, gaps, off, times, losses := l.Calls, l.Gaps, l.OffCPU, l.ThreadTimes, l.Losses
			*l = r.in.Tables
			l.Calls, l.Gaps, l.OffCPU, l.ThreadTimes, l.Losses = calls, gaps, off, times, losses
		case *[]store.OpStat:
			*l = r.in.Ops
		case *[]store.GapStat:
			*l = r.in.GapStats
		case *[]store.Pause:
			*l = r.in.Pauses
		case *[]store.Loss:
			*l = nil
			for _, x := range r.in.Dropped {
				*l = append(*l, store.Loss{Loss: x})
			}
		case *[]store.GPUProcess:
			*l = r.in.GPUMemory
		}
	}
	return r.err
}

func (r reader) Footprint(context.Context, store.Window) (event.Footprint, error) {
	if r.in.Footprint == nil {
		return event.Footprint{}, r.err
	}
	return event.Footprint{
		Syscalls: []event.SyscallCount{{PID: 7, Nr: 0, Calls: 3}},
		CPU:      []event.ProcessCPU{{PID: 7, Comm: "node", NS: 5000}},
	}, r.err
}

func (r reader) OpSeries(context.Context, store.Window, uint64) ([]store.OpSecond, error) {
	return r.in.Series, r.err
}

func (r reader) WaitSeries(context.Context, store.Window, uint64) ([]store.WaitSecond, error) {
	return r.in.WaitSeries, r.err
}

func (r reader) WaitSites(context.Context, store.Window, uint64) ([]store.SiteSecond, error) {
	return r.in.WaitSites, r.err
}

func (r reader) Busy(context.Context, store.Window, int) ([]store.Busy, uint64, error) {
	return r.in.Busy, r.in.BusyUntil, r.err
}

func (r reader) Stack(_ context.Context, id uint64) (event.Stack, error) {
	return event.Stack{ID: id, Frames: []event.Frame{{Symbol: "step"}}}, nil
}

func visit[T any](list []T, f func(*T) bool) error {
	var v T
	for i := range list {
		if v = list[i]; !f(&v) {
			break
		}
	}
	return nil
}

func (r reader) NotableCalls(_ context.Context, _ store.Window, f func(*event.Call) bool) error {
	return visit(r.in.Calls, f)
}

func (r reader) CallTimes(_ context.Context, w store.Window, f func(*event.CallTime) bool) error {
	return visit(r.in.Calls, func(c *event.Call) bool {
		t := c.Time()
		t.Start = w.From // in another span each time
		return f(&t)
	})
}

func (r reader) NotableGaps(_ context.Context, _ store.Window, f func(*event.Gap) bool) error {
	return visit(r.in.Gaps, f)
}

func (r reader) OffCPU(_ context.Context, _ store.Window, f func(*event.OffCPU) bool) error {
	return visit(r.in.OffCPU, f)
}

func (r reader) ThreadTimes(_ context.Context, _ store.Window, f func(*event.ThreadTime) bool) error {
	return visit(r.in.ThreadTimes, f)
}

func TestLoadReadsEverything(t *testing.T) {
	want := diagnosetest.InputOf(read(t, "testdata/block_io_through_lock.txtar"))
	want.Calls[0].Stack = 42
	want.Memory, want.MemorySites = []event.Memory{{PID: 1}}, []event.MemorySite{{PID: 1, Stack: 43}}
	want.GPUs = []store.GPUSnapshot{{At: 7, GPU: 1, UtilPct: 90}}
	want.GPUDevices = []store.GPUDevice{{GPU: 1, Node: -1}}
	want.Libraries = []store.Library{{PID: 100, Name: "libcudart.so.12", Version: "12.4.127"}}
	want.GPUMemory, want.Xids = []store.GPUProcess{{At: 7, GPU: 1, PID: 100, Bytes: 5, Known: true}},
		[]store.Xid{{At: 8, GPU: 1, Code: 79}}
	want.RankEvents = []store.RankEvent{{At: 9, ID: "a", Rank: 5}}
	want.Pauses = []store.Pause{{From: 8, To: 9, Why: "the disk was full"}}
	want.InFlight = []event.InFlight{{Thread: event.Thread{PID: 1, TID: 1}, Stack: 44}}
	got, err := diagnose.Load(t.Context(), reader{in: want}, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.OffCPU, got.OffCPU, cmp.Transformer("nil", func(s []uint64) int { return len(s) }),
		cmp.Transformer("nilc", func(s []event.Culprit) int { return len(s) })); d != "" {
		t.Errorf("rows differ: %s", d)
	}
	if d := cmp.Diff(want.Pauses, got.Pauses); d != "" || got.Part {
		t.Errorf("a part: %v; pauses differ: %s", got.Part, d)
	}
	if got.Node != "n1" || got.CPUs != 4 || got.Window != (store.Window{From: 5, To: 100}) || got.Stacks[42].ID != 42 ||
		got.Stacks[43].ID != 43 || got.Stacks[44].ID != 44 || len(got.Memory) != 1 {
		t.Errorf("loaded node %q, %d CPUs, window %v, %d stacks", got.Node, got.CPUs, got.Window, len(got.Stacks))
	}
	for i, s := range got.Spans {
		if len(s) != len(want.Calls) || s[0].Start != 5+uint64(i)*((100-5)/12) {
			t.Errorf("span %d has %d calls from %d on", i, len(s), s[0].Start)
		}
	}
	if len(got.Spans) != 12 {
		t.Errorf("%d spans, want 12", len(got.Spans))
	}
	if d := cmp.Diff(want.GPUs, got.GPUs) + cmp.Diff(want.GPUDevices, got.GPUDevices) +
		cmp.Diff(want.Libraries, got.Libraries) + cmp.Diff(want.Series, got.Series); d != "" || got.SeriesStep != 1 {
		t.Errorf("readings or series, in steps of %d, differ: %s", got.SeriesStep, d)
	}
	boom := errors.New("boom")
	if _, err := diagnose.Load(t.Context(), reader{in: want, err: boom}, store.Window{}); !errors.Is(err, boom) {
		t.Errorf("Load hides the reader's error: %v", err)
	}
}

func TestRecordingWithoutCUDASaysWhatItIs(t *testing.T) {
	in, err := diagnose.Load(t.Context(), reader{in: &diagnose.Input{Footprint: &report.Footprint{}}}, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	r := diagnose.Diagnose(in)
	const want = "no CUDA call was made: this is the footprint of node (7): 3 system calls, 5 us on a CPU, 0 files, 0 " +
		"sockets, 0 programs executed"
	if r.Verdict != want || r.Footprint == nil || len(r.Footprint.Syscalls) != 1 {
		t.Errorf("%q, %+v", r.Verdict, r.Footprint)
	}
}
