package collective_test

import (
	"testing"

	"github.com/ingero-io/ingero/collective"
	"github.com/ingero-io/ingero/event"
)

// trace makes calls of one process, one after the other, 10 ns each.
type trace struct {
	t     *testing.T
	at    uint64
	calls []event.Call
}

func (r *trace) call(op string, args ...uint64) {
	i, ok := event.ByName(op)
	if !ok {
		r.t.Fatalf("no operation %s", op)
	}
	c := event.Call{Start: r.at, Duration: 10, Thread: event.Thread{PID: 1, TID: 1}, Op: i.Op}
	copy(c.Args[:], args)
	r.calls = append(r.calls, c)
	r.at += 100
}

func (r *trace) take() []event.Collective {
	k := collective.NewTracker()
	k.Calls(r.calls)
	return k.Take(0, nil)
}

func TestWaitsAreMatchedThroughEventsAndStreams(t *testing.T) {
	const comm, s, other, ev, ev2 = 0xc0, 5, 6, 7, 8
	for _, c := range []struct {
		name string
		rest func(r *trace)
		want uint64 // start of the call that waited, 0: none
	}{
		{"its stream", func(r *trace) { r.call("cudaStreamSynchronize", s) }, 300},
		{"another stream", func(r *trace) { r.call("cudaStreamSynchronize", other) }, 0},
		{"all", func(r *trace) { r.call("cudaDeviceSynchronize") }, 300},
		{"an event behind it", func(r *trace) { r.call("cudaEventRecord", ev, s); r.call("cudaEventSynchronize", ev) }, 400},
		{"an event of another stream", func(r *trace) { r.call("cudaEventRecord", ev, other); r.call("cudaEventSynchronize", ev) }, 0},
		{"a stream that waits for it", func(r *trace) {
			r.call("cudaEventRecord", ev, s)
			r.call("cudaStreamWaitEvent", other, ev)
			r.call("cudaStreamSynchronize", other)
		}, 500},
		{"an event of such a stream", func(r *trace) {
			r.call("cudaEventRecord", ev, s)
			r.call("cudaStreamWaitEvent", other, ev)
			r.call("cudaEventRecord", ev2, other)
			r.call("cudaEventSynchronize", ev2)
		}, 600},
	} {
		r := &trace{t: t, at: 100}
		r.call("ncclCommInitRank", comm, 4, 2, 99)
		r.call("ncclAllReduce", comm, 64, 7<<32|4<<40|3, s)
		c.rest(r)
		got := r.take()
		if len(got) != 1 || got[0].SyncStart != c.want || got[0].Rank != 2 || got[0].Ranks != 4 || got[0].CommID != 99 ||
			got[0].Seq != 3 || got[0].DataType != 7 || got[0].ReduceOp != 4 || got[0].TypeName() != "float32" || got[0].Peer != -1 {
			t.Errorf("%s: %+v, want a wait at %d", c.name, got, c.want)
		}
	}
}

func TestAnEventBeforeTheCollectiveDoesNotWaitForIt(t *testing.T) {
	r := &trace{t: t, at: 100}
	r.call("ncclCommInitRank", 1, 2, 0, 99)
	r.call("cudaEventRecord", 7, 5)
	r.call("ncclAllReduce", 1, 64, 1, 5)
	r.call("cudaEventSynchronize", 7)
	if got := r.take(); len(got) != 1 || got[0].SyncOp != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAGroupIsQueuedAtItsOutermostEnd(t *testing.T) {
	r := &trace{t: t, at: 100}
	r.call("ncclGroupStart")
	r.call("ncclGroupStart")
	r.call("ncclSend", 1, 64, 3<<48, 5)
	r.call("ncclGroupEnd")
	r.call("ncclRecv", 1, 64, 3<<48, 5)
	r.call("ncclGroupEnd") // at 600
	r.call("cudaStreamSynchronize", 5)
	got := r.take()
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, c := range got {
		if c.At != 600 || c.Group != 100 || c.Peer != 3 || !c.PairWise() || c.SyncStart != 700 || c.Seq != 0 {
			t.Errorf("call %d: %+v", i, c)
		}
		if ns, ok := c.Wait(); ns != 110 || !ok {
			t.Errorf("call %d: waited %d, %v", i, ns, ok)
		}
	}
}

func TestWhatNobodyWaitsForIsGivenUp(t *testing.T) {
	r := &trace{t: t, at: 100}
	for range collective.MaxPending + 10 {
		r.call("ncclAllReduce", 1, 64, 0, 5)
	}
	k := collective.NewTracker()
	k.Calls(r.calls)
	if n := len(k.Take(1, nil)); n != 10 {
		t.Errorf("%d given up for lack of room, want 10", n)
	}
	if n := len(k.Take(r.at+collective.MaxAge, nil)); n != collective.MaxPending {
		t.Errorf("%d given up because of their age, want %d", n, collective.MaxPending)
	}
	k.Calls(r.calls[:3])
	k.Lives([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 1, TID: 1}}})
	if n := len(k.Take(1, nil)); n != 3 {
		t.Errorf("%d given up with their process, want 3", n)
	}
}
