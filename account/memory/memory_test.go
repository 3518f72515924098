package memory_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/account/memory"
	"github.com/ingero-io/ingero/event"
)

func op(t testing.TB, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

// made makes calls of one process, 10 ns apart and 5 ns long.
type made struct {
	testing.TB
	at      uint64
	tracker *memory.Tracker
}

func (m *made) call(name string, c event.Call) {
	m.Helper()
	c.Op = op(m, name)
	c.Thread = event.Thread{PID: 7, TID: 7 + c.TID}
	if c.Start == 0 {
		m.at += 10
		c.Start, c.Duration = m.at, 5
	}
	m.tracker.Calls([]event.Call{c})
}

func (m *made) alloc(name string, ptr, bytes, stack uint64) {
	m.Helper()
	m.call(name, event.Call{Args: [event.NumArgs]uint64{bytes, ptr}, Stack: stack})
}

func (m *made) free(name string, ptr uint64) {
	m.Helper()
	m.call(name, event.Call{Args: [event.NumArgs]uint64{ptr}})
}

func start(t testing.TB) *made {
	return &made{t, 1000, memory.NewTracker(memory.MaxLive)}
}

// device returns the record of device memory.
func (m *made) device() event.Memory {
	m.Helper()
	list, _ := m.tracker.Take(m.at, nil, nil)
	for _, r := range list {
		if r.Space == event.DeviceMemory {
			return r
		}
	}
	m.Fatalf("no record of device memory among %+v", list)
	return event.Memory{}
}

func TestLiveMemoryIsWhatWasNotFreed(t *testing.T) {
	m := start(t)
	m.alloc("cudaMalloc", 0x1000, 100, 1)
	m.alloc("cudaMalloc", 0x2000, 50, 1)
	m.alloc("cudaMallocHost", 0x3000, 7, 2)
	m.free("cudaFree", 0x1000)
	want := event.Memory{
		At: m.at, PID: 7, LiveBytes: 50, LiveCount: 1, PeakBytes: 150,
		Allocs: 2, Frees: 1, Bytes: 150, AllocNS: 10, FreeNS: 5,
	}
	if d := cmp.Diff(want, m.device()); d != "" {
		t.Error(d)
	}
	// Levels stay, counts begin again.
	if d := cmp.Diff(event.Memory{At: m.at, PID: 7, LiveBytes: 50, LiveCount: 1, PeakBytes: 150}, m.device()); d != "" {
		t.Error(d)
	}
}

func TestAnAllocationInsideAnAllocationCountsOnce(t *testing.T) {
	m := start(t)
	nested := func(name string, depth uint8, from, to uint64, args ...uint64) {
		c := event.Call{Start: from, Duration: to - from, Depth: depth}
		copy(c.Args[:], args)
		m.call(name, c)
	}
	nested("cuMemAlloc", 1, 11, 18, 100, 0x1000)
	nested("cudaMalloc", 0, 10, 20, 100, 0x1000)
	if r := m.device(); r.Allocs != 1 || r.LiveBytes != 100 || r.AllocNS != 10 {
		t.Errorf("one allocation of 100 bytes in 10 ns, counted as %+v", r)
	}
	nested("cuMemFree", 1, 31, 38, 0x1000)
	nested("cudaFree", 0, 30, 40, 0x1000)
	if r := m.device(); r.Frees != 1 || r.LiveBytes != 0 || r.UnknownFrees != 0 {
		t.Errorf("one free, counted as %+v", r)
	}
	// Inside a call that does not allocate, it counts as a call of its own, once.
	nested("cuMemAlloc", 2, 52, 53, 64, 0x2000)
	nested("cudaMalloc", 1, 51, 54, 64, 0x2000)
	nested("cudaLaunchKernel", 0, 50, 60)
	if r := m.device(); r.Allocs != 1 || r.LiveBytes != 64 {
		t.Errorf("one allocation of 64 bytes inside a launch, counted as %+v", r)
	}
	// It does so too if its caller's record is missing.
	nested("cuMemAlloc", 1, 71, 72, 32, 0x3000)
	nested("cudaMalloc", 0, 80, 85, 16, 0x4000)
	if r := m.device(); r.Allocs != 2 || r.LiveBytes != 64+32+16 {
		t.Errorf("two allocations, counted as %+v", r)
	}
}

func TestFailedAndEmptyCallsChangeNothing(t *testing.T) {
	m := start(t)
	m.call("cudaMalloc", event.Call{Ret: 2, Args: [event.NumArgs]uint64{1 << 40}})
	m.alloc("cudaMalloc", 0, 0, 0)
	m.alloc("cudaMalloc", 0x1000, 10, 0)
	m.call("cudaFree", event.Call{Ret: 1, Args: [event.NumArgs]uint64{0x1000}})
	m.free("cudaFree", 0)
	if r := m.device(); r.Failed != 1 || r.Allocs != 1 || r.Frees != 0 || r.LiveBytes != 10 {
		t.Errorf("record %+v", r)
	}
}

func TestMemoryFromBeforeTheTraceIsNotCountedTwice(t *testing.T) {
	m := start(t)
	m.free("cudaFree", 0xbeef)
	if r := m.device(); r.UnknownFrees != 1 || r.Frees != 1 || r.LiveBytes != 0 {
		t.Errorf("record %+v", r)
	}
}

// A free returns after another thread got the same address, so it is recorded after that thread's allocation.
func TestAnAddressReusedBeforeItsFreeReturned(t *testing.T) {
	m := start(t)
	m.alloc("cudaMalloc", 0x1000, 100, 0)
	m.call("cudaMalloc",
		event.Call{Start: 2005, Duration: 10, Thread: event.Thread{TID: 1}, Args: [event.NumArgs]uint64{30, 0x1000}})
	m.call("cudaFree", event.Call{Start: 2000, Duration: 20, Args: [event.NumArgs]uint64{0x1000}})
	if r := m.device(); r.LiveBytes != 30 || r.LiveCount != 1 || r.Frees != 1 || r.UnknownFrees != 0 {
		t.Errorf("the second allocation lives, recorded as %+v", r)
	}
	m.at = 3000
	m.free("cudaFree", 0x1000)
	if r := m.device(); r.LiveCount != 0 {
		t.Errorf("nothing lives, recorded as %+v", r)
	}
}

func TestAllocationsThatDoNotFitAreCounted(t *testing.T) {
	m := &made{t, 0, memory.NewTracker(2)}
	for i := range uint64(5) {
		m.alloc("cudaMalloc", 0x1000+i, 1, 0)
	}
	if r := m.device(); r.Allocs != 5 || r.Untracked != 3 || r.LiveCount != 2 {
		t.Errorf("record %+v", r)
	}
	m.free("cudaFree", 0x1000)
	m.alloc("cudaMalloc", 0x9000, 1, 0)
	if r := m.device(); r.Untracked != 0 || r.LiveCount != 2 {
		t.Errorf("after a free: record %+v", r)
	}
}

func TestAProcessThatEndsIsForgotten(t *testing.T) {
	for _, l := range []event.Life{
		{Kind: event.LifeExit, At: 99, Thread: event.Thread{PID: 7, TID: 7}},
		{Kind: event.LifeExec, At: 99, Thread: event.Thread{PID: 7, TID: 7}},
	} {
		m := start(t)
		m.alloc("cudaMalloc", 0x1000, 10, 0)
		lives := []event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 7, TID: 8}}, l}
		m.tracker.Lives(lives)
		if l.Kind == event.LifeExit {
			m.tracker.Ended(lives)
		}
		if r := m.device(); r.At != 99 || r.Allocs != 1 {
			t.Errorf("%s: last record %+v", l.Kind, r)
		}
		if list, sites := m.tracker.Take(200, nil, nil); len(list)+len(sites) != 0 {
			t.Errorf("%s: still there: %+v %+v", l.Kind, list, sites)
		}
	}
}

// The ends of a process and its threads are read before their last calls.
func TestCallsAfterAnExitAreOfTheProcessThatEnded(t *testing.T) {
	m := start(t)
	m.alloc("cudaMalloc", 0x1000, 10, 0)
	m.call("cuMemAlloc", event.Call{Args: [event.NumArgs]uint64{20, 0x2000}, Depth: 1, Start: 2000, Duration: 5})
	exits := []event.Life{
		{Kind: event.LifeExit, At: 3000, Thread: event.Thread{PID: 7, TID: 8}},
		{Kind: event.LifeExit, At: 3000, Thread: event.Thread{PID: 7, TID: 7}},
	}
	m.tracker.Lives(exits)
	m.call("cudaLaunchKernel", event.Call{Start: 1990, Duration: 30}) // the call around it
	m.free("cudaFree", 0x1000)
	m.tracker.Ended(exits)
	r := m.device()
	if r.At != 3000 || r.Allocs != 2 || r.Frees != 1 || r.UnknownFrees != 0 || r.LiveBytes != 20 {
		t.Errorf("last record %+v", r)
	}
	if list, _ := m.tracker.Take(4000, nil, nil); len(list) != 0 {
		t.Errorf("still there: %+v", list)
	}
}

func TestSitesAreThoseThatHoldMost(t *testing.T) {
	m := start(t)
	for i := range uint64(20) {
		m.alloc("cudaMalloc", 0x1000+i, 10+i, 100+i)
	}
	oldest := m.at + 5
	m.alloc("cudaMalloc", 0x2000, 1000, 119)
	m.free("cudaFree", 0x1000+19) // its oldest is the one just made
	_, sites := m.tracker.Take(m.at, nil, nil)
	if len(sites) != memory.MaxSites {
		t.Fatalf("%d sites", len(sites))
	}
	if s := sites[0]; s.Stack != 119 || s.LiveBytes != 1000 || s.LiveCount != 1 || s.Oldest <= oldest {
		t.Errorf("largest site %+v, its oldest not after %d", s, oldest)
	}
	if s := sites[1]; s.Stack != 118 || s.LiveBytes != 28 || s.Oldest == 0 {
		t.Errorf("second site %+v", s)
	}
	if _, again := m.tracker.Take(m.at, nil, nil); len(again) != 0 {
		t.Errorf("reported again without a change: %+v", again)
	}
	// A process whose memory is now empty is reported once more, so that the last record is true.
	m.free("cudaFree", 0x2000)
	_, sites = m.tracker.Take(m.at, nil, nil)
	var last *event.MemorySite
	for i := range sites {
		if sites[i].Stack == 119 {
			last = &sites[i]
		}
	}
	if last == nil || last.LiveBytes != 0 || last.Oldest != 0 {
		t.Errorf("after its free: %+v", last)
	}
}

func TestSitesOfOneSpaceDoNotHideThoseOfAnother(t *testing.T) {
	m := start(t)
	for i := range uint64(20) {
		m.alloc("cudaMalloc", 0x1000+i, 1000+i, 100+i)
	}
	m.alloc("cudaHostRegister", 0x5000, 10, 7)
	_, sites := m.tracker.Take(m.at, nil, nil)
	if n := len(sites); n != memory.MaxSites+1 || sites[n-1].Space != event.PinnedMemory {
		t.Errorf("%d sites, the last in %s", n, sites[n-1].Space)
	}
}

// Compares the tracker with a plain model, over arbitrary calls.
func TestTrackerAgreesWithAModel(t *testing.T) {
	m := start(t)
	rng := rand.New(rand.NewPCG(1, 2))
	type block struct{ bytes, stack, at uint64 }
	live := map[uint64]block{}
	for range 20_000 {
		ptr := 0x1000 + rng.Uint64N(300)
		if _, ok := live[ptr]; ok {
			m.free("cudaFree", ptr)
			delete(live, ptr)
			continue
		}
		b := block{1 + rng.Uint64N(1<<20), rng.Uint64N(5), 0}
		m.alloc("cudaMalloc", ptr, b.bytes, b.stack)
		b.at = m.at + 5
		live[ptr] = b
	}
	var bytes uint64
	want := map[uint64]event.MemorySite{}
	for _, b := range live {
		bytes += b.bytes
		s := want[b.stack]
		s.LiveBytes += b.bytes
		s.LiveCount++
		if s.Oldest == 0 || b.at < s.Oldest {
			s.Oldest = b.at
		}
		want[b.stack] = s
	}
	list, sites := m.tracker.Take(m.at, nil, nil)
	if len(list) != 1 || list[0].LiveBytes != bytes || list[0].LiveCount != uint64(len(live)) {
		t.Errorf("live %+v, want %d bytes in %d", list, bytes, len(live))
	}
	if len(sites) != len(want) {
		t.Fatalf("%d sites, want %d", len(sites), len(want))
	}
	for _, s := range sites {
		w := want[s.Stack]
		if s.LiveBytes != w.LiveBytes || s.LiveCount != w.LiveCount || s.Oldest != w.Oldest {
			t.Errorf("site %d: %+v, want %+v", s.Stack, s, w)
		}
	}
}

func BenchmarkCallsThatDoNotAllocate(b *testing.B) {
	calls := make([]event.Call, 1024)
	for i := range calls {
		calls[i] = event.Call{Op: op(b, "cudaLaunchKernel"), Thread: event.Thread{PID: 1, TID: 1}}
	}
	t := memory.NewTracker(memory.MaxLive)
	for b.Loop() {
		t.Calls(calls)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(calls)), "ns/call")
}
