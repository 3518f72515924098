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
	second := func(allocs int) limit {
		m.calls(calls(alloc.Op, allocs))
		m.calls(calls(launch.Op, 100))
		l := m.limits(time.Second)
		m.ops(time.Second, func(uint32) string { return "" })
		if got := l[launch.Op].stack; got < minStack {
			t.Errorf("launches of %v get a stack from %v on", 100*time.Microsecond, got)
		}
		return l[alloc.Op]
	}
	if got := m.limits(time.Second)[alloc.Op]; got != (limit{stack: 1}) {
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
