package agent

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
)

func TestEachAllocationGetsAStackWhileTheyAreRare(t *testing.T) {
	alloc, _ := event.ByName("cudaMalloc")
	launch, _ := event.ByName("cudaLaunchKernel")
	calls := func(op event.Op, n int) []event.Call {
		list := make([]event.Call, n)
		for i := range list {
			list[i] = event.Call{Op: op, Duration: 100_000, Thread: event.Thread{PID: 1, TID: 1}}
		}
		return list
	}
	m := newMeter()
	second := func(allocs int) threshold {
		m.calls(calls(alloc.Op, allocs))
		m.calls(calls(launch.Op, 100))
		l := m.limits(time.Second)
		m.ops(time.Second, func(uint32) string { return "" })
		if got := l[launch.Op].stack; got < minStack {
			t.Errorf("launches of %v get a stack from %v on", 100*time.Microsecond, got)
		}
		return l[alloc.Op]
	}
	if got := m.limits(time.Second)[alloc.Op]; got != (threshold{stack: 1, off: firstOff}) {
		t.Errorf("before the first allocation: %+v", got)
	}
	if got := second(10).stack; got != 1 {
		t.Errorf("at 10 a second: stacks from %v on", got)
	}
	if got := second(maxStacks).stack; got < minStack {
		t.Errorf("at %d a second: stacks from %v on", maxStacks, got)
	}
	if got := second(10).stack; got != 1 {
		t.Errorf("when they are rare again: stacks from %v on", got)
	}
}

// Where one call in ten takes long, a multiple of the median would give a stack
// to all of those, however many they are.
func TestStacksOfSlowCallsAreForTheSlowest(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	for _, c := range []struct {
		calls    int
		from, to time.Duration // of the limit
	}{
		{500, minStack, 199 * time.Microsecond}, // 50 long ones a second: all of them
		{20_000, 300 * time.Microsecond, 400 * time.Microsecond},
	} {
		m := newMeter()
		list := make([]event.Call, c.calls)
		for i := range list {
			list[i] = event.Call{Op: launch.Op, Duration: 10_000, Thread: event.Thread{PID: 1, TID: 1}}
			if i%10 == 0 {
				list[i].Duration = 200_000 + uint64(i)*200_000/uint64(c.calls)
			}
		}
		m.calls(list)
		if got := m.limits(time.Second)[launch.Op].stack; got < c.from || got > c.to {
			t.Errorf("%d calls a second: stacks from %v on, want %v to %v", c.calls, got, c.from, c.to)
		}
	}
}

// When launches become many and slow within a second, as when training begins, the limit of the
// second before would give their first ones all the stacks.
func TestStacksOfACrowdedSecondAreForTheSlowest(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	m := newMeter()
	limit := m.limit(launch.Op, time.Second).stack
	part := func(n int, usual uint64) (stacks, slowest, without int) {
		list := make([]event.Call, n)
		for i := range list {
			c := event.Call{Op: launch.Op, Duration: usual, Thread: event.Thread{PID: 1, TID: 1}}
			switch {
			case i%400 == 399:
				c.Duration = 2_000_000
			case i%5 == 0:
				c.Duration = 60_000 + 100*uint64(i%300)
			}
			if time.Duration(c.Duration) >= limit {
				c.Stack = 1
				stacks++
			}
			if c.Duration == 2_000_000 {
				slowest++
				if c.Stack == 0 {
					without++
				}
			}
			list[i] = c
		}
		m.calls(list)
		for _, op := range m.overLimit() {
			limit = m.limit(op, time.Second).stack
		}
		return stacks, slowest, without
	}
	part(40, 5_000)
	limit = m.limits(time.Second)[launch.Op].stack
	var s Status
	m.status(&s, time.Second, func(uint32) string { return "" })
	sum, slow, without := 0, 0, 0
	for range 20 { // drains
		n, of, no := part(1000, 6_000)
		sum, slow, without = sum+n, slow+of, without+no
	}
	if sum > 1000 {
		t.Errorf("%d of 20,000 calls have a stack", sum)
	}
	if slow == 0 || without > 0 {
		t.Errorf("%d of the %d slowest calls have none", without, slow)
	}
	// The next second begins with its own count.
	m.status(&s, time.Second, func(uint32) string { return "" })
	if got := m.overLimit(); len(got) > 0 {
		t.Errorf("%v is over its limit before its first call", got)
	}
}

// TestAUsualLongWaitGetsNoStack: llama.cpp makes 14 waits a token. One of them waits
// for the token, always about as long: a thousand a second that are not slow.
func TestAUsualLongWaitGetsNoStack(t *testing.T) {
	wait, _ := event.ByName("cudaStreamSynchronize")
	m := newMeter()
	var list []event.Call
	for i := range uint64(1163) {
		for range 13 {
			list = append(list, event.Call{Op: wait.Op, Duration: 1_600, Thread: event.Thread{PID: 1, TID: 1}})
		}
		list = append(list, event.Call{Op: wait.Op, Duration: 783_000 + i%1000, Thread: event.Thread{PID: 1, TID: 1}})
	}
	m.calls(list)
	got, stacks := m.limits(time.Second)[wait.Op].stack, 0
	for i := range list {
		if time.Duration(list[i].Duration) >= got {
			stacks++
		}
	}
	if stacks > maxSlow {
		t.Errorf("%d of %d waits get a stack, from %v on, want at most %d", stacks, len(list), got, maxSlow)
	}
	if got > 850*time.Microsecond {
		t.Errorf("a wait that takes 850us, not 783us as usual, gets no stack: only from %v on", got)
	}
}

// TestEndedProcessesAreSummedUp: the newest of those that ended stay listed, what
// the others did still counts for the limits.
func TestEndedProcessesAreSummedUp(t *testing.T) {
	launch, _ := event.ByName("cudaLaunchKernel")
	m := newMeter()
	const n = keptEnded + 10
	for pid := uint32(1); pid <= n; pid++ {
		m.calls([]event.Call{{Op: launch.Op, Duration: 1_000_000, Thread: event.Thread{PID: pid, TID: pid}}})
		m.exited(pid)
		m.exited(pid + n) // one that made no call
	}
	if len(m.procs) != keptEnded || m.procs[n] == nil || m.procs[1] != nil {
		t.Errorf("%d processes are listed, want the last %d", len(m.procs), keptEnded)
	}
	if got := m.limits(time.Second)[launch.Op].off; got < unusual*time.Millisecond*9/10 {
		t.Errorf("waits are usual up to %v after %d calls of 1 ms", got, n)
	}
	if m.total != n {
		t.Errorf("%d calls, want %d", m.total, n)
	}
}

// TestACallIsUnusualOnlyInTheSecondOfItsReturn: a call is unusual only if calls of its
// kind are known to be much shorter.
func TestACallIsUnusualOnlyInTheSecondOfItsReturn(t *testing.T) {
	wait, _ := event.ByName("cudaStreamSynchronize")
	second := func(m *meter, n int, d time.Duration) bool {
		list := make([]event.Call, n)
		for i := range list {
			list[i] = event.Call{Op: wait.Op, Duration: uint64(d), Thread: event.Thread{PID: 1, TID: 1}}
		}
		m.calls(list)
		defer m.ops(time.Second, func(uint32) string { return "" })
		return m.unusual()
	}
	m := newMeter()
	if second(m, 1, time.Second) {
		t.Error("the first call of its kind is unusual")
	}
	m = newMeter()
	for i, c := range []struct {
		n    int
		d    time.Duration
		want bool
	}{
		{10_000, time.Millisecond, false},
		{1, 400 * time.Millisecond, true},
		{100, time.Millisecond, false},
		{1, 90 * time.Millisecond, false},
	} {
		if got := second(m, c.n, c.d); got != c.want {
			t.Errorf("second %d, %d calls of %v: unusual is %v", i, c.n, c.d, got)
		}
	}
	m = newMeter()
	second(m, 1000, 50*time.Millisecond)
	if second(m, 1, 400*time.Millisecond) {
		t.Error("a call of 8 times the usual duration is unusual")
	}
}
