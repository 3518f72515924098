package mcptool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
)

// slowCalls is a recording of processes that launch, each of which has some slow calls:
// of the first ones the CPU was taken away, of the last one some allocations take long on
// a CPU, and some launches wait for a lock of which nobody knows the holder.
func slowCalls(t *testing.T) string {
	t.Helper()
	began := time.Now().Add(-time.Minute)
	b := &store.Batch{}
	launch, _ := event.ByName("cudaLaunchKernel")
	malloc, _ := event.ByName("cudaMalloc")
	for n := range uint32(3) {
		who, hog := event.Thread{PID: 100 + n, TID: 100 + n}, event.Thread{PID: 900 + n, TID: 900 + n}
		b.Processes = append(b.Processes, store.Process{
			PID: who.PID, Name: "ray worker " + string(rune('a'+n)), Rank: -1,
			LocalRank: -1, WorldSize: -1, Traced: true,
		})
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: who, Comm: "worker", Dispatch: true},
			store.ThreadInfo{Thread: hog, Comm: "hog"})
		at := uint64(began.UnixNano()) + uint64(n)*1000
		for i := range 600 {
			slow := i >= 300 // not among the first calls, which are slow by nature
			c := event.Call{Start: at, Duration: 5000, Thread: who, Op: launch.Op, GPU: event.NoGPU}
			if i%20 >= 18 {
				c.Op = malloc.Op
			}
			const wait = 30_000_000
			o := event.OffCPU{
				Start: at + 500, Duration: wait, Thread: who, Comm: "worker", Op: c.Op, Syscall: -1, WakerSyscall: -1,
				Dispatch: true,
			}
			switch {
			case slow && n < 2 && i%20 == 17:
				c.Duration += wait
				c.Ledger.NS[event.RunQueue], c.Ledger.Involuntary = wait, 1
				o.Class, o.RunQueue, o.Culprits = event.RunQueue, wait, []event.Culprit{{Thread: hog, Comm: "hog", NS: wait - 1000}}
				b.OffCPU = append(b.OffCPU, o)
			case slow && n == 2 && i%20 == 19:
				c.Duration += wait
			case slow && n == 2 && i%20 == 17:
				c.Duration += wait
				c.Ledger.NS[event.Futex], c.Ledger.Voluntary = wait, 1
				o.Class = event.Futex
				b.OffCPU = append(b.OffCPU, o)
			}
			b.Calls = append(b.Calls, c)
			at += 5_000_000 + c.Duration
		}
	}
	return written(t, began, b)
}

// TestNamesAndHandlesOfAnswersAreAccepted passes names, cursors and handles back as answers have them.
func TestNamesAndHandlesOfAnswersAreAccepted(t *testing.T) {
	cs := connect(t, slowCalls(t), mcptool.Options{})
	var all struct {
		Ops        []struct{ Process string }
		NextCursor string `json:"next_cursor"`
	}
	call(t, cs, "get_trace_stats", map[string]any{"since": "all", "limit": 1}, &all)
	if !strings.HasPrefix(all.Ops[0].Process, "«") || all.NextCursor == "" {
		t.Fatalf("there is no name with spaces, or no second part: %+v", all)
	}
	call(t, cs, "get_trace_stats", map[string]any{"process": all.Ops[0].Process}, nil)
	call(t, cs, "get_trace_stats", map[string]any{"op": "cudalaunchkernel"}, nil)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"get_stacks", map[string]any{"since": "all", "cursor": all.NextCursor}, "with other arguments"},
		{"get_causal_chains", map[string]any{"since": "all", "cursor": all.NextCursor}, "with other arguments"},
		{"get_trace_stats", map[string]any{"since": "all", "cursor": all.NextCursor + "zz"}, "with other arguments"},
		{"get_trace_stats", map[string]any{"process": all.Ops[0].Process, "pid": 7}, "is not named"},
		{"get_trace_stats", map[string]any{"op": "cudaLaunchKern"}, "did you mean cudaLaunchKernel?"},
	} {
		if got := fails(t, cs, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %q, want %q in it", c.tool, c.args, got, c.want)
		}
	}
}

// TestEvidenceOfCallsOnACPUExists follows next for a finding of calls that have no ledger
// because they never left the CPU.
func TestEvidenceOfCallsOnACPUExists(t *testing.T) {
	cs := connect(t, slowCalls(t), mcptool.Options{})
	var d struct {
		Finding struct{ Kind string }
		Next    []struct {
			Tool      string
			Arguments map[string]any
		}
	}
	call(t, cs, "diagnose", map[string]any{"since": "all", "pid": 102}, &d)
	tried := 0
	for _, n := range d.Next {
		if n.Tool == "run_sql" {
			tried++
			var found struct{ Rows [][]any }
			if call(t, cs, n.Tool, n.Arguments, &found); len(found.Rows) != 1 {
				t.Errorf("%s: %v has %d rows", d.Finding.Kind, n.Arguments, len(found.Rows))
			}
		}
	}
	if tried == 0 {
		t.Errorf("%+v: no evidence to look at", d)
	}
}

// TestUnexplainedTimeIsOnTheFirstPage has several findings before it.
func TestUnexplainedTimeIsOnTheFirstPage(t *testing.T) {
	cs := connect(t, slowCalls(t), mcptool.Options{})
	var d struct {
		NotExplained []json.RawMessage `json:"not_explained"`
	}
	call(t, cs, "diagnose", map[string]any{"since": "all"}, &d)
	var c struct {
		Chains       []json.RawMessage
		NotExplained []json.RawMessage `json:"not_explained"`
	}
	call(t, cs, "get_causal_chains", map[string]any{"since": "all"}, &c)
	if len(c.Chains) < 2 || len(d.NotExplained) == 0 || len(c.NotExplained) != len(d.NotExplained) {
		t.Errorf("%d findings; not explained are %d, by diagnose %d", len(c.Chains), len(c.NotExplained), len(d.NotExplained))
	}
}

// TestWindowsThatCutASecondSaySo: what is counted is counted by the second.
func TestWindowsThatCutASecondSaySo(t *testing.T) {
	cs := connect(t, slowCalls(t), mcptool.Options{})
	var whole, part struct{ Window, Note string }
	call(t, cs, "get_trace_stats", map[string]any{"since": "all"}, &whole)
	from, to, _ := strings.Cut(whole.Window, "/")
	begin, err := time.Parse(time.RFC3339Nano, from)
	must(t, err)
	second := begin.Truncate(time.Second).Add(time.Second)
	for since, says := range map[string]bool{
		"all": false, whole.Window: false, second.Format(time.RFC3339Nano) + "/" + to: false,
		second.Add(time.Millisecond).Format(time.RFC3339Nano):              true,
		from + "/" + second.Add(time.Millisecond).Format(time.RFC3339Nano): true,
	} {
		part.Note = ""
		call(t, cs, "get_trace_stats", map[string]any{"since": since}, &part)
		if strings.Contains(part.Note, "whole seconds") != says {
			t.Errorf("%s: the note is %q", since, part.Note)
		}
		part.Note = ""
		call(t, cs, "get_stacks", map[string]any{"since": since}, &part)
		noted := strings.Contains(part.Note, "op_… and calls_without_stack are of the whole seconds")
		if noted != says || strings.Contains(part.Note, "counts, sums") {
			t.Errorf("%s: the stacks, which are of the window alone, have the note %q", since, part.Note)
		}
	}
}

func TestAProcessWithoutCallsIsNoEmptyRecording(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{})
	var d struct{ Note string }
	call(t, cs, "diagnose", map[string]any{"since": "all", "pid": 900}, &d) // who took a CPU
	if !strings.Contains(d.Note, "one process only") {
		t.Errorf("the note is %q", d.Note)
	}
}

// TestCallsWithoutAShownStackAreCounted asks for more calls than are read one by one.
func TestCallsWithoutAShownStackAreCounted(t *testing.T) {
	began := time.Now().Add(-5 * time.Minute)
	who := event.Thread{PID: 100, TID: 100}
	b := &store.Batch{
		Tables: store.Tables{Processes: []store.Process{{PID: 100, Name: "trainer", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true}}},
		Stacks: []event.Stack{{
			ID: 7, PID: 100,
			Frames: []event.Frame{{Kind: event.FrameNative, Symbol: "step", Module: "trainer"}},
		}},
	}
	launch, _ := event.ByName("cudaLaunchKernel")
	at := uint64(began.UnixNano())
	for i := range 100_100 {
		c := event.Call{Start: at, Duration: 5000, Thread: who, Op: launch.Op, GPU: event.NoGPU}
		if i%1000 == 999 {
			c.Duration, c.Stack = 10_000_000, 7
		}
		b.Calls = append(b.Calls, c)
		at += 1_000_000 + c.Duration // few enough a second for all to be stored
	}
	cs := connect(t, written(t, began, b), mcptool.Options{})
	var stats struct{ Calls uint64 }
	call(t, cs, "get_trace_stats", map[string]any{"since": "all"}, &stats)
	var got struct {
		Without uint64 `json:"calls_without_stack"`
		Note    string
		Stacks  []struct{ Calls uint64 }
	}
	call(t, cs, "get_stacks", map[string]any{"since": "all", "limit": 1000}, &got)
	sum := got.Without
	for _, s := range got.Stacks {
		sum += s.Calls
	}
	if sum != stats.Calls || len(got.Stacks) != 1 || got.Without < 100_000 || !strings.Contains(got.Note, "very many") {
		t.Errorf("%d calls in %d stacks and without, of %d; the note is %q", sum, len(got.Stacks), stats.Calls, got.Note)
	}
}
