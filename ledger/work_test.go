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
	if _, exact := Waits(span, waits); exact {
		t.Error("a thinned sequence is taken for an exact one")
	}
}

func TestWorkOfAboutTheSameCountsIsTheSame(t *testing.T) {
	if (Work{Kernels: 500}).Size() != (Work{Kernels: 510}).Size() {
		t.Error("500 and 510 kernels are told apart")
	}
	if (Work{Kernels: 500}).Size() == (Work{Kernels: 800}).Size() || (Work{Graphs: 1}).Size() == (Work{}).Size() {
		t.Error("other work is taken for the same")
	}
}
