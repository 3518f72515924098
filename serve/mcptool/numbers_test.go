package mcptool_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
)

func opOf(t testing.TB, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("there is no operation %s", name)
	}
	return i.Op
}

// trainer is a process with a thread that makes calls.
func trainer() (event.Thread, *store.Batch) {
	who := event.Thread{PID: 100, TID: 100}
	return who, &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: who.PID, Name: "trainer", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true}},
		Threads:   []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}},
	}}
}

// TestNestedCallsCountOnce: a runtime call that sleeps in the driver sleeps once.
func TestNestedCallsCountOnce(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	who, b := trainer()
	at := uint64(began.UnixNano())
	outer, inner := opOf(t, "cudaStreamSynchronize"), opOf(t, "cuStreamSynchronize")
	const n, sleep = 500, 5_000_000
	for range n {
		var l event.Ledger
		l.NS[event.Sleep], l.Voluntary = sleep, 1
		b.Calls = append(b.Calls,
			event.Call{Start: at, Duration: sleep + 3000, Thread: who, Op: outer, GPU: event.NoGPU, Ledger: l},
			event.Call{Start: at + 1000, Duration: sleep + 1000, Thread: who, Op: inner, Depth: 1, GPU: event.NoGPU, Ledger: l})
		at += sleep + 1_000_000
	}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	for _, c := range []struct {
		args  map[string]any
		calls int
	}{
		{nil, n},
		{map[string]any{"layer": "CUDA"}, n},
		{map[string]any{"layer": "DRIVER"}, n},
		{map[string]any{"op": "cuStreamSynchronize"}, n},
	} {
		var got struct {
			Calls int
			Ops   []opRow
			Off   []struct {
				Class string
				NS    int
			} `json:"off_cpu"`
		}
		call(t, cs, "get_trace_stats", c.args, &got)
		if got.Calls != c.calls || len(got.Off) != 1 || got.Off[0].Class != "sleep" || got.Off[0].NS != n*sleep {
			t.Errorf("%v: %d calls, waits %+v; want %d calls and %d ns of sleep", c.args, got.Calls, got.Off, c.calls, n*sleep)
		}
	}
}

// TestARecordingThatHasEndedIsTakenWhole, however soon after its end, by each tool.
func TestARecordingThatHasEndedIsTakenWhole(t *testing.T) {
	began := time.Now().Add(-14 * time.Minute)
	who, b := trainer()
	const n = 6000
	for i := range uint64(n) {
		b.Calls = append(b.Calls, event.Call{
			Start: uint64(began.UnixNano()) + i*100_000_000, Duration: 5000, Thread: who, Op: opOf(t, "cudaLaunchKernel"),
			GPU: event.NoGPU,
		})
	}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	windows := map[string]bool{}
	for _, tool := range []string{
		"get_trace_stats", "diagnose", "get_stacks", "get_timeline", "get_causal_chains",
		"run_sql",
	} {
		var got struct {
			Window string
			Calls  int
		}
		call(t, cs, tool, defaults[tool], &got)
		windows[got.Window] = true
		if got.Calls != n && got.Calls != 0 {
			t.Errorf("%s: %d calls of %d", tool, got.Calls, n)
		}
	}
	if len(windows) != 1 || windows[""] {
		t.Errorf("the tools answer for %v", windows)
	}
	var got statsAnswer
	call(t, cs, "get_trace_stats", map[string]any{"since": "1m"}, &got)
	if left := n - got.Calls; left <= 0 ||
		!strings.Contains(got.Note, fmt.Sprintf("the recording has 5,%03d calls more before it", left%1000)) {
		t.Errorf("%d calls of %d, note %q", got.Calls, n, got.Note)
	}
}

// TestStacksSayWhichCallsTheyAreOf: stacks are of slow calls; their mean is not that of all calls.
func TestStacksSayWhichCallsTheyAreOf(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	who, b := trainer()
	b.Stacks = []event.Stack{{
		ID: 77, PID: who.PID,
		Frames: []event.Frame{{Kind: event.FrameNative, Addr: 1, Symbol: "step", Module: "train"}},
	}}
	at := uint64(began.UnixNano())
	const n, slow = 5000, 10
	for i := range n {
		c := event.Call{Start: at, Duration: 10_000, Thread: who, Op: opOf(t, "cudaLaunchKernel"), GPU: event.NoGPU}
		if i%(n/slow) == n/slow-1 {
			c.Duration, c.Stack = 5_000_000, 77
		}
		b.Calls = append(b.Calls, c)
		at += 1_000_000 + c.Duration
	}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	var got struct {
		Note    string
		Without int `json:"calls_without_stack"`
		Stacks  []struct {
			Calls   int
			AvgNS   int     `json:"avg_ns"`
			OfCalls int     `json:"op_calls"`
			OfAvgNS int     `json:"op_avg_ns"`
			OfPct   float64 `json:"op_time_pct"`
		}
	}
	call(t, cs, "get_stacks", nil, &got)
	if len(got.Stacks) != 1 || got.Without != n-slow {
		t.Fatalf("%+v", got)
	}
	s := got.Stacks[0]
	const all = (n-slow)*10_000 + slow*5_000_000
	if s.Calls != slow || s.AvgNS != 5_000_000 || s.OfCalls != n || s.OfAvgNS != all/n || math.Abs(s.OfPct-50.1) > 0.1 {
		t.Errorf("%+v: want %d calls of %d ns, and %d of %d", s, slow, 5_000_000, n, all/n)
	}
	if !strings.Contains(got.Note, "10 of 5,000 calls, 50.1 % of their time") {
		t.Errorf("note %q", got.Note)
	}
}

// TestNextShowsTheCulprit: the rows that a finding leads to hold who was to blame, and are
// narrow enough to be read.
func TestNextShowsTheCulprit(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{})
	var d struct {
		Finding struct{ Culprit struct{ TID int } }
		Next    []struct {
			Tool      string
			Arguments map[string]any
		}
	}
	call(t, cs, "diagnose", nil, &d)
	tried := false
	for _, n := range d.Next {
		if n.Tool != "run_sql" {
			continue
		}
		tried = true
		var got struct {
			Columns []string
			Rows    [][]any
		}
		call(t, cs, n.Tool, n.Arguments, &got)
		if len(got.Columns) > 8 || strings.Contains(strings.Join(got.Columns, ","), "duration,") {
			t.Errorf("columns %v", got.Columns)
		}
		if !strings.Contains(fmt.Sprint(got.Rows), fmt.Sprint(" ", d.Finding.Culprit.TID, " ")) ||
			!strings.Contains(fmt.Sprint(got.Rows), "hog of") {
			t.Errorf("the culprit %d is not in %v", d.Finding.Culprit.TID, got.Rows)
		}
	}
	if !tried {
		t.Errorf("nothing leads to rows: %+v", d.Next)
	}
}

// TestNextShowsTheHolder: of a lock that was held over writes to the disk, both waits.
func TestNextShowsTheHolder(t *testing.T) {
	cs := connect(t, "../../investigations/lock-through-disk.db", mcptool.Options{})
	var d struct {
		Finding struct{ Culprit struct{ TID int } }
		Next    []struct {
			Tool      string
			Arguments map[string]any
		}
	}
	call(t, cs, "diagnose", nil, &d)
	waits, held := 0, false
	for _, n := range d.Next {
		if n.Tool != "run_sql" {
			continue
		}
		var got struct{ Rows [][]any }
		call(t, cs, n.Tool, n.Arguments, &got)
		for _, row := range got.Rows {
			if row[1] == "metrics-flush" && row[2] == "block_io" {
				waits++
			}
			held = held || row[1] == "trainer" && row[2] == "futex" && row[6] == float64(d.Finding.Culprit.TID)
		}
	}
	if waits == 0 || !held {
		t.Errorf("%d waits of the holder for the disk; that it held the lock is reported: %t", waits, held)
	}
}

// TestWhatWasDroppedIsTheSameEverywhere: one number for a loss, in the same words, whichever
// tool is asked for whichever window; and none of them calls it lost, as time is.
func TestWhatWasDroppedIsTheSameEverywhere(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	who, b := trainer()
	for i := range uint64(100) {
		b.Calls = append(b.Calls, event.Call{
			Start: uint64(began.UnixNano()) + i*100_000_000, Duration: 5000, Thread: who, Op: opOf(t, "cudaLaunchKernel"),
			GPU: event.NoGPU,
		})
	}
	b.Losses = []event.Loss{{Kind: event.LostHealed, Count: 24}, {Kind: event.LostCall, Count: 1}}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	want := map[string]string{
		"call":   "1 call (ring buffer full)",
		"healed": "24 intervals rebuilt from the scheduler's clock",
	}
	for tool := range needsRecording {
		for _, since := range []string{"", "all", "3s"} {
			args := map[string]any{}
			maps.Copy(args, defaults[tool])
			if tool != "run_sql" {
				args["since"] = since
			}
			var got struct{ Dropped map[string]string }
			res := call(t, cs, tool, args, &got)
			if d := cmp.Diff(want, got.Dropped); d != "" || strings.Contains(textOf(res), `"lost":`) {
				t.Errorf("%s since %q: %s in %s", tool, since, d, textOf(res))
			}
		}
	}
}

func TestDiagnoseTellsOfSlowRanks(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	who, b := trainer()
	b.Calls = []event.Call{{
		Start: uint64(began.UnixNano()), Duration: 5000, Thread: who, Op: opOf(t, "cudaLaunchKernel"), GPU: event.NoGPU,
	}}
	at := uint64(began.Add(10 * time.Second).UnixNano())
	b.RankEvents = []store.RankEvent{
		{At: at, Type: "straggler_state", ID: "a", PID: who.PID, Rank: 5, Ranks: 8, Summary: "rank 5 of 8 is slower \x1b[31m"},
		{At: at + 5e9, Type: "straggler_resolved", ID: "a", PID: who.PID, Rank: 5, Resolved: true, Summary: "it is no longer"},
	}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	var got struct{ Ranks []string }
	call(t, cs, "diagnose", nil, &got)
	if len(got.Ranks) != 1 || !strings.Contains(got.Ranks[0], "rank 5 of 8 is slower") ||
		!strings.Contains(got.Ranks[0], "; over at ") || strings.Contains(got.Ranks[0], "\x1b") {
		t.Errorf("ranks: %q", got.Ranks)
	}
}

// TestEachArgumentIsDescribed, with how much it can be and what it is if it is not given.
func TestEachArgumentIsDescribed(t *testing.T) {
	cs := connect(t, "nothing.db", mcptool.Options{})
	for tool, err := range cs.Tools(t.Context(), nil) {
		must(t, err)
		schema := tool.InputSchema.(map[string]any)
		required := fmt.Sprint(schema["required"])
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			about, _ := p.(map[string]any)["description"].(string)
			switch {
			case about == "":
				t.Errorf("%s: %s is not described", tool.Name, name)
			case !strings.Contains(required, name) && !strings.Contains(about, "default") && about != "as in diagnose":
				t.Errorf("%s: nothing says what %s is by default: %q", tool.Name, name, about)
			case p.(map[string]any)["type"] == "integer" && !strings.Contains("pid tid", name) &&
				!strings.Contains(about, "at most"):
				t.Errorf("%s: nothing says how much %s can be: %q", tool.Name, name, about)
			}
		}
	}
}

// checkBudget is what get_check may take, in tokens.
const checkBudget = 300

func TestCheckIsBrief(t *testing.T) {
	paths, err := filepath.Glob("../../investigations/*.db")
	must(t, err)
	for _, path := range append(paths, manyProcesses(t), filepath.Join(t.TempDir(), "missing.db")) {
		cs := connect(t, path, mcptool.Options{})
		res := call(t, cs, "get_check", nil, nil)
		if n := tokens(t, res); n > checkBudget {
			t.Errorf("%s: get_check answers in %d tokens, more than %d: %s", filepath.Base(path), n, checkBudget, textOf(res))
		}
	}
	thinned := connect(t, thinnedRecording(t), mcptool.Options{})
	var got struct{ Traced, Sampled string }
	call(t, thinned, "get_check", nil, &got)
	if !strings.Contains(got.Sampled, " calls are stored one by one, others counted") ||
		!strings.HasPrefix(got.Traced, "1 process: trainer") {
		t.Errorf("%+v", got)
	}
}

type timelineAnswer struct {
	Note     string
	Thread   struct{ TID int }
	Step     string
	BucketNS uint64 `json:"bucket_ns"`
	Marks    []struct{ At, What string }
	Columns  []string
	Buckets  [][]any
}

// TestTimelineMarksWhereStepsChange: in mid-run the steps begin to wait for a lock.
func TestTimelineMarksWhereStepsChange(t *testing.T) {
	for _, seconds := range []int{40, 600} {
		cs, changed := stepChange(t, seconds)
		var got timelineAnswer
		res := call(t, cs, "get_timeline", map[string]any{"buckets": 60}, &got)
		if n := tokens(t, res); n > answerBudget {
			t.Errorf("%d s: answered in %d tokens", seconds, n)
		}
		if len(got.Buckets) == 0 || len(got.Buckets) > 60 || !strings.Contains(got.Step, "4 cudaLaunchKernel") {
			t.Errorf("%d s: %d buckets of %q", seconds, len(got.Buckets), got.Step)
		}
		if len(got.Marks) != 1 {
			t.Fatalf("%d s: marks %+v of %v", seconds, got.Marks, got.Buckets)
		}
		m := got.Marks[0]
		at, err := time.Parse(time.RFC3339Nano, m.At)
		must(t, err)
		if d := at.Sub(changed).Abs(); d > time.Second {
			t.Errorf("%d s: marked %v from the change", seconds, d)
		}
		for _, want := range []string{"a step takes 20 ms instead of 10 ms", "waits of class futex take 50 % instead of 0 %"} {
			if !strings.Contains(m.What, want) {
				t.Errorf("%d s: %q, want %q in it", seconds, m.What, want)
			}
		}
	}
}

// stepChange is a recording of steps of 10 ms, which take 20 ms from the middle on.
func stepChange(t *testing.T, seconds int) (*mcp.ClientSession, time.Time) {
	t.Helper()
	began := time.Unix(1_700_000_000, 0)
	changed := began.Add(time.Duration(seconds) * time.Second / 2)
	who, b := trainer()
	launch, sync := opOf(t, "cudaLaunchKernel"), opOf(t, "cudaStreamSynchronize")
	for at, end := uint64(began.UnixNano()), uint64(began.Add(time.Duration(seconds)*time.Second).UnixNano()); at < end; {
		start := at
		for range 4 {
			b.Calls = append(b.Calls, event.Call{Start: at, Duration: 5000, Thread: who, Op: launch, GPU: event.NoGPU})
			at += 500_000
		}
		c := event.Call{Start: at, Duration: 1_000_000, Thread: who, Op: sync, GPU: event.NoGPU}
		step := uint64(10_000_000)
		if start >= uint64(changed.UnixNano()) {
			step *= 2
			c.Duration += 10_000_000
			c.Ledger.NS[event.Futex], c.Ledger.Voluntary = 10_000_000, 1
		}
		b.Calls = append(b.Calls, c)
		at = start + step
	}
	return connect(t, written(t, began, b), mcptool.Options{}), changed
}

// TestTimesAddUpToNoMoreThanThereIs: whatever the calls and waits are, long ones and nested
// ones too, a thread has in no second waited longer than that.
func TestTimesAddUpToNoMoreThanThereIs(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 16))
		began := time.Unix(1_700_000_000, int64(rng.Uint64N(1e9)))
		who, b := trainer()
		first := uint64(began.UnixNano())
		at := first
		for range 400 {
			pause := rng.Uint64N(1 << (8 + rng.Uint64N(23)))
			if l, ok := randomWaits(rng, pause); ok {
				b.Gaps = append(b.Gaps, event.Gap{Start: at, Duration: pause, Thread: who, Next: opOf(t, "cudaMalloc"), Ledger: l})
			}
			at += pause
			d := 10 + rng.Uint64N(1<<(8+rng.Uint64N(24)))
			l, _ := randomWaits(rng, d)
			b.Calls = append(b.Calls,
				event.Call{Start: at, Duration: d, Thread: who, Op: opOf(t, "cudaMalloc"), GPU: event.NoGPU, Ledger: l})
			b.Calls = append(b.Calls, event.Call{
				Start: at + 2, Duration: d - 4, Thread: who, Op: opOf(t, "cuMemAlloc"),
				Depth: 1, GPU: event.NoGPU, Ledger: l,
			})
			at += d
		}
		cs := connect(t, written(t, began, b), mcptool.Options{})
		var stats struct {
			Off []struct{ NS uint64 } `json:"off_cpu"`
		}
		call(t, cs, "get_trace_stats", nil, &stats)
		sum := uint64(0)
		for _, o := range stats.Off {
			sum += o.NS
		}
		if sum == 0 || sum > at-first {
			t.Errorf("seed %d: %d ns of waits in %d", seed, sum, at-first)
		}
		var tl timelineAnswer
		call(t, cs, "get_timeline", map[string]any{"buckets": 60}, &tl)
		for _, row := range tl.Buckets {
			waits := 0.0
			for i, c := range tl.Columns {
				if v, ok := row[i].(float64); ok && strings.Contains(" runq futex sleep pipe ", " "+c+" ") {
					waits += v
				}
			}
			if waits > 100.5 {
				t.Errorf("seed %d: %v %% of a bucket: %v %v", seed, waits, tl.Columns, row)
			}
		}
	}
}

// randomWaits splits a part of a time into waits.
func randomWaits(rng *rand.Rand, ns uint64) (l event.Ledger, some bool) {
	for _, c := range []event.Class{event.RunQueue, event.Futex, event.Sleep, event.Pipe} {
		part := rng.Uint64N(ns/4 + 1)
		l.NS[c] = part
		some = some || part > 0
	}
	if some {
		l.Voluntary = 1
	}
	return l, some
}
