package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

var engine = event.Thread{PID: 10, TID: 11}

// start is when the runs of these tests begin, Unix ns.
const start = uint64(1_000_000 * time.Second)

func traced(pid uint32, name string) *store.Batch {
	return &store.Batch{Tables: store.Tables{Processes: []store.Process{{PID: pid, Name: name, Traced: true}}}}
}

// run feeds a thread's totals every tenth of a second: it computes half of its time, and in the other half waits for
// a lock; from a minute on, for a disk.
func run(t *live.Stats, of event.Thread, length time.Duration) (now uint64) {
	r := event.ThreadTime{Thread: of, Comm: "loop", Dispatch: true}
	for d := 100 * time.Millisecond; d <= length; d += 100 * time.Millisecond {
		r.At, r.OnCPU = start+uint64(d), uint64(d/2)
		c := event.Futex
		if d > time.Minute {
			c = event.BlockIO
		}
		r.NS[c] += uint64(50 * time.Millisecond)
		t.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{ThreadTimes: []event.ThreadTime{r}}}})
	}
	return start + uint64(length)
}

func TestTimeOfAThreadIsReportedByWindow(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	now := run(ta, engine, 90*time.Second)
	p := ta.Picture(now)
	if len(p.Threads) != 1 || p.Threads[0].Process != "engine" || p.Threads[0].Comm != "loop" || !p.Threads[0].Dispatch {
		t.Fatalf("threads: %+v", p.Threads)
	}
	for i, w := range live.Windows {
		s := p.Threads[0].Spans[i]
		if w == 0 {
			w = 90 * time.Second
		}
		if d := time.Duration(s.NS); d < w || d > w*5/4+500*time.Millisecond {
			t.Errorf("the window of %s is %s long", w, d)
		}
		if 2*s.OnCPU != s.NS || s.Unaccounted != 0 {
			t.Errorf("window %s: on a CPU %d of %d, unaccounted %d", w, s.OnCPU, s.NS, s.Unaccounted)
		}
		if s.Lost() != s.OnCPU || s.Of(event.OnCPU) != s.OnCPU {
			t.Errorf("window %s: lost %d, want %d", w, s.Lost(), s.OnCPU)
		}
		lock := s.Class[event.Futex]
		if w <= 10*time.Second && lock != 0 || w > 10*time.Second && lock == 0 {
			t.Errorf("window %s: lock %d", w, lock)
		}
	}
	if got := p.Threads[0].Spans[3].Class; got[event.Futex] != uint64(30*time.Second) ||
		got[event.BlockIO] != uint64(15*time.Second) {
		t.Errorf("whole run: %v", got)
	}
}

// The time of a thread that has not left a CPU, or not come back to one, is not reported yet: it must not look idle.
func TestTimeNotYetReportedIsUnaccounted(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	now := run(ta, engine, 20*time.Second)
	for i, s := range ta.Picture(now + uint64(5*time.Second)).Threads[0].Spans {
		if s.Unaccounted != uint64(5*time.Second) {
			t.Errorf("window %s: unaccounted %s", live.Windows[i], time.Duration(s.Unaccounted))
		}
	}
}

// It is known what a thread that hangs in a call waits for, although it has not come back.
func TestTimeInACallThatDoesNotReturnIsReported(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	last := run(ta, engine, 20*time.Second)
	now := last + uint64(5*time.Second)
	look := event.InFlight{Thread: engine, At: now - 5e8, Since: last + 1e9, Doing: event.Blocked, Class: event.Pipe}
	ta.Batch(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{look}}})
	before := ta.Picture(last).Threads[0].Spans[3]
	s := ta.Picture(now).Threads[0].Spans[3]
	if s.Class[event.Pipe] != 35e8 || s.Unaccounted != 15e8 || s.NS != before.NS+5e9 {
		t.Errorf("in a pipe %d, unaccounted %d of %d", s.Class[event.Pipe], s.Unaccounted, s.NS)
	}
	look.End = now
	ta.Batch(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{look}}})
	if s := ta.Picture(now).Threads[0].Spans[3]; s.Class[event.Pipe] != 0 || s.Unaccounted != 5e9 {
		t.Errorf("after it returned: %+v", s)
	}
}

func TestThreadsAreBoundedAndThoseLeftOutCounted(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	for tid := range uint32(600) {
		ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{ThreadTimes: []event.ThreadTime{{
			At:     start,
			Thread: event.Thread{PID: 10, TID: tid + 1},
		}}}}})
	}
	p := ta.Picture(start)
	if len(p.Threads) != 512 || p.MoreThreads != 88 {
		t.Errorf("%d threads, %d left out", len(p.Threads), p.MoreThreads)
	}
	var exits []event.Life
	for tid := range uint32(300) {
		exits = append(exits, event.Life{At: start, Kind: event.LifeExit, Thread: event.Thread{PID: 10, TID: tid + 1}})
	}
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: exits, ThreadTimes: nil}}})
	late := start + uint64(2*time.Minute)
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{ThreadTimes: []event.ThreadTime{{
		At:     late,
		Thread: event.Thread{PID: 10, TID: 9999},
	}}}}})
	if p := ta.Picture(late); !slices.ContainsFunc(p.Threads, func(x live.Thread) bool { return x.TID == 9999 }) {
		t.Error("there is no room after threads ended")
	}
}

func TestThreadsOfUntracedProcessesAreNotShown(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{ThreadTimes: []event.ThreadTime{
		{At: start, Thread: event.Thread{PID: 20, TID: 20}, Comm: "stranger"},
		{At: start, Thread: engine, Comm: "waker", Followed: true},
	}}}})
	if p := ta.Picture(start); len(p.Threads) != 0 {
		t.Errorf("threads: %+v", p.Threads)
	}
}

func TestTimeOfCallsIsAddedUp(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	c := event.Call{Thread: engine, Op: launch.Op, Duration: 100}
	w := c
	w.Ledger.NS[event.Futex], w.Ledger.Voluntary = 60, 1
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{c, w, c}}}})
	p := ta.Picture(start)
	got := p.Ops[live.OpKey{PID: 10, Op: launch.Op}]
	if got.NS != 300 || got.Class[event.Futex] != 60 || got.OnCPU() != 240 {
		t.Errorf("%+v", got)
	}
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{c}}}})
	if again := p.Ops[live.OpKey{PID: 10, Op: launch.Op}]; again != got {
		t.Error("a picture changes later")
	}
}

func TestMemoryOfAProcessIsKept(t *testing.T) {
	malloc, _ := event.ByName("cudaMalloc")
	ta := live.New()
	b := traced(10, "engine")
	b.Stacks = []event.Stack{{
		ID: 7, PID: 10,
		Frames: []event.Frame{{Kind: event.FramePython, Symbol: "load", File: "train.py", Line: 12}},
	}}
	b.Memory = []event.Memory{{PID: 10, LiveBytes: 100, PeakBytes: 200, Allocs: 3, Failed: 1}}
	b.MemorySites = []event.MemorySite{
		{PID: 10, Op: malloc.Op, Stack: 7, LiveBytes: 60, LiveCount: 1},
		{PID: 10, Op: malloc.Op, LiveBytes: 40, LiveCount: 2},
	}
	b.HostMemory = []event.HostMemory{{PID: 10, RSS: 5000}}
	ta.Batch(b)
	ta.Batch(&store.Batch{Tables: store.Tables{
		Memory:      []event.Memory{{PID: 10, LiveBytes: 60, PeakBytes: 200, Allocs: 1, Failed: 2}},
		MemorySites: []event.MemorySite{{PID: 10, Op: malloc.Op, LiveCount: 0}},
	}})
	h := ta.Picture(start).Memory
	if len(h) != 1 || h[0].Process != "engine" || h[0].Host.RSS != 5000 {
		t.Fatalf("%+v", h)
	}
	d := h[0].Spaces[event.DeviceMemory]
	if d.LiveBytes != 60 || d.Allocs != 4 || d.Failed != 3 || !d.Used || h[0].Spaces[event.PinnedMemory].Used {
		t.Errorf("%+v", d)
	}
	if s := h[0].Sites; len(s) != 1 || s[0].Where != "train.py:12 in load" {
		t.Errorf("sites: %+v", s)
	}
}

func TestOnlyTheLastEndedProcessesAreKept(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	ta := live.New()
	for pid := uint32(1); pid <= 100; pid++ {
		b := traced(pid, fmt.Sprint("p", pid))
		b.Calls = []event.Call{{Thread: event.Thread{PID: pid, TID: pid}, Op: launch.Op, Duration: 1}}
		b.Memory = []event.Memory{{PID: pid}}
		ta.Batch(b)
		ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: []event.Life{{
			At: start, Kind: event.LifeExit,
			Thread: event.Thread{PID: pid, TID: pid},
		}}}}})
	}
	p := ta.Picture(start)
	if len(p.Memory) != 32 || len(p.Ops) != 32 || !p.Memory[0].Ended || p.Memory[31].Process != "p100" {
		t.Errorf("%d processes with memory, %d with calls, the last %+v", len(p.Memory), len(p.Ops),
			p.Memory[len(p.Memory)-1])
	}
}

// A process's number may be reused.
func TestProcessThatReusesAPIDIsKept(t *testing.T) {
	ta := live.New()
	end := func(pid uint32) {
		ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: []event.Life{{
			At: start, Kind: event.LifeExit,
			Thread: event.Thread{PID: pid, TID: pid},
		}}}}})
	}
	ta.Batch(traced(1, "first"))
	end(1)
	b := traced(1, "second")
	b.Memory = []event.Memory{{PID: 1, LiveBytes: 5}}
	ta.Batch(b)
	for pid := uint32(2); pid < 50; pid++ {
		ta.Batch(traced(pid, "x"))
		end(pid)
	}
	if h := ta.Picture(start).Memory; len(h) != 1 || h[0].Process != "second" || h[0].Ended {
		t.Errorf("%+v", h)
	}
}

func TestNoticesAreKept(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "hungry"))
	for i := range 70 {
		ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: []event.Life{{
			At: start + uint64(i), Kind: event.LifeOOM,
			Thread: event.Thread{PID: 10, TID: 10},
		}}}}})
	}
	ta.Batch(&store.Batch{Tables: store.Tables{Xids: []store.Xid{{At: start + 100, GPU: 1, Code: 79}}}})
	ta.Changed(&report.Change{AtNS: start + 200, Process: "hungry"})
	p := ta.Picture(start)
	if c := p.Notices[63].Change; c == nil || c.Process != "hungry" || p.Notices[63].At != start+200 {
		t.Errorf("the last is %+v", p.Notices[63])
	}
	if p.Noticed != 72 || len(p.Notices) != 64 || p.Notices[61].OOM.Comm != "hungry" || p.Notices[62].Xid.Code != 79 {
		t.Errorf("%d noticed, %d kept, the last %+v", p.Noticed, len(p.Notices), p.Notices[len(p.Notices)-1])
	}
}

func TestGPUsAreKept(t *testing.T) {
	ta := live.New()
	ta.Batch(traced(10, "engine"))
	ta.Batch(&store.Batch{Tables: store.Tables{
		GPUDevices: []store.GPUDevice{{GPU: 1, Name: "B"}, {GPU: 0, Name: "A"}},
		GPUs:       []store.GPUSnapshot{{At: start, GPU: 1, UtilPct: 50}},
		GPUMemory: []store.GPUProcess{
			{GPU: 1, PID: 10, Bytes: 100, Known: true},
			{GPU: 1, PID: 11, Bytes: 200, Known: true},
		},
		Snapshots: []store.Snapshot{{CPUPct: 1}, {CPUPct: 2}},
	}})
	ta.Batch(&store.Batch{Tables: store.Tables{GPUMemory: []store.GPUProcess{{GPU: 1, PID: 11, Known: true}}}})
	p := ta.Picture(start)
	if len(p.GPUs) != 2 || p.GPUs[0].Device.Name != "A" || p.GPUs[1].Last.UtilPct != 50 {
		t.Fatalf("%+v", p.GPUs)
	}
	if u := p.GPUs[1].Users; len(u) != 1 || u[0].Process != "engine" {
		t.Errorf("users: %+v", u)
	}
	if p.Host == nil || p.Host.CPUPct != 2 {
		t.Errorf("host: %+v", p.Host)
	}
}
