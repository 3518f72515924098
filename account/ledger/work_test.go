package ledger

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

func opNamed(t *testing.T, name string) event.Op {
	t.Helper()
	for i := range event.Catalog {
		if event.Catalog[i].Name == name {
			return event.Catalog[i].Op
		}
	}
	t.Fatalf("no operation %s", name)
	return 0
}

func TestWaitsHaveTheWorkOfAllThreadsSinceTheLastOne(t *testing.T) {
	launch, sync := opNamed(t, "cudaLaunchKernel"), opNamed(t, "cudaStreamSynchronize")
	graph, cp := opNamed(t, "cudaGraphLaunch"), opNamed(t, "cudaMemcpyAsync")
	a, b := event.Thread{PID: 1, TID: 1}, event.Thread{PID: 1, TID: 2}
	var span []event.CallTime
	for i, c := range []event.CallTime{
		{Thread: a, Op: sync},
		{Thread: b, Op: launch},
		{Thread: b, Op: graph},
		{Thread: a, Op: cp},
		{Thread: a, Op: sync},
		{Thread: a, Op: sync},
	} {
		c.Start, c.Duration = uint64(10*i), 5
		span = append(span, c)
	}
	waits := func(op event.Op) bool { return op.Role() == event.RoleSync }
	list, exact := Waits(span, waits)
	if !exact || len(list) != 2 || list[0].Work != (Work{1, 1, 1}) || !list[1].Work.Empty() {
		t.Errorf("got %+v, exact %v", list, exact)
	}
	if list[0].Began != 10 || list[0].Took() != 35 || list[1].Began != 0 {
		t.Errorf("the work was handed over from %d, %d ns before the wait's end; %+v", list[0].Began, list[0].Took(), list[1])
	}
	span[1].Weight = 2
	list, exact = Waits(span, waits)
	if exact {
		t.Error("a thinned sequence is taken for an exact one")
	}
	if list[0].Work.Kernels != 2 || list[0].Loose != 2 || list[0].Known() || list[1].Loose != 0 || !list[1].Known() {
		t.Errorf("one of 4 calls may have come before the first wait, or after the second: got %+v", list)
	}
}

func TestWorkOfManyThinnedCallsIsKnown(t *testing.T) {
	launch, sync := opNamed(t, "cudaLaunchKernel"), opNamed(t, "cudaStreamSynchronize")
	span := []event.CallTime{{Op: sync}}
	for range 20 {
		span = append(span, event.CallTime{Op: launch, Weight: 3})
	}
	span = append(span, event.CallTime{Op: sync}, event.CallTime{Op: launch, Weight: 3}, event.CallTime{Op: sync})
	for i := range span {
		span[i].Start = uint64(10 * i)
	}
	list, exact := Waits(span, func(op event.Op) bool { return op.Role() == event.RoleSync })
	if exact || len(list) != 2 || list[0].Work.Kernels != 60 || list[0].Loose != 4 || list[1].Loose != 4 {
		t.Fatalf("got %+v, exact %v", list, exact)
	}
	if !list[0].Known() || list[1].Known() {
		t.Error("60 kernels are known well if they may be 56 or 64, 3 are not if they may be none")
	}
}

func TestWorkOfAboutTheSameCountsIsTheSame(t *testing.T) {
	if (Work{Kernels: 500}).Size() != (Work{Kernels: 510}).Size() {
		t.Error("500 and 510 kernels are distinguished")
	}
	if (Work{Kernels: 500}).Size() == (Work{Kernels: 800}).Size() || (Work{Graphs: 1}).Size() == (Work{}).Size() {
		t.Error("other work is taken for the same")
	}
}
