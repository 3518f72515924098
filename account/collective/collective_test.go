package collective_test

import (
	"testing"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/event"
)

// trace makes calls of one process: 10 ns each, one every 100 ns.
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
		{
			"an event of another stream",
			func(r *trace) { r.call("cudaEventRecord", ev, other); r.call("cudaEventSynchronize", ev) }, 0,
		},
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
			got[0].Seq != 3 || got[0].DataType != 7 || got[0].ReduceOp != 4 || got[0].TypeName() != "float32" ||
			got[0].Peer != -1 {
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

func TestCollectivesThatNobodyWaitsForAreGivenUp(t *testing.T) {
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
	k.Ended([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 1, TID: 1}}})
	if n := len(k.Take(1, nil)); n != 3 {
		t.Errorf("%d given up with their process, want 3", n)
	}
}

// The exit of a process is read before its last calls.
func TestCallsAfterAnExitAreOfTheProcessThatEnded(t *testing.T) {
	r := &trace{t: t, at: 100}
	r.call("ncclCommInitRank", 0xc0, 4, 2, 99)
	r.call("ncclAllReduce", 0xc0, 64, 7<<32|4<<40|3, 5)
	r.call("cudaStreamSynchronize", 5)
	k := collective.NewTracker()
	k.Calls(r.calls[:1])
	exit := []event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 1, TID: 1}}}
	k.Lives(exit)
	k.Calls(r.calls[1:])
	k.Ended(exit)
	list := k.Take(1, nil)
	if len(list) != 1 || list[0].SyncStart != 300 || list[0].Rank != 2 || list[0].Ranks != 4 {
		t.Errorf("%+v, want one of rank 2 of 4, waited for at 300", list)
	}
}

// Ranks get the same id for communicators derived from others.
func TestCommunicatorsMadeOfOthers(t *testing.T) {
	ids := func(rank, color uint64) (list []uint64) {
		r := &trace{t: t, at: 100}
		world, half, pair, rest := 0xc0+rank*0x1000, 0xd0+rank*0x1000, 0xe0+rank*0x1000, 0xf0+rank*0x1000
		r.call("ncclCommInitRank", world, 4, rank, 99)
		r.call("ncclCommSplit", half, world, color, 3-rank)
		r.call("ncclCommSplit", pair, half, 0, 0)
		if rank == 3 {
			r.call("ncclCommSplit", 0, world, 0xffffffff, 0)
		} else {
			r.call("ncclCommSplit", rest, world, 1, 0)
		}
		r.call("ncclCommShrink", 0x11, world, 1, 0)
		for _, c := range []uint64{world, half, pair, rest, 0x11, 0x77} {
			r.call("ncclAllReduce", c, 64, 7<<32|1, 5)
		}
		r.call("ncclSend", half, 64, 1<<48|1, 5)
		for _, c := range r.take() {
			if c.CommID != 0 && c.Rank != int32(rank) {
				t.Errorf("rank %d: %+v", rank, c)
			}
			if c.Comm == 0x11 && c.Ranks != 3 {
				t.Errorf("shrunk to %d ranks", c.Ranks)
			}
			list = append(list, c.CommID)
		}
		return list
	}
	a, b, c, d := ids(0, 0), ids(1, 0), ids(2, 1), ids(3, 1)
	for i, same := range []bool{true, true, true, true, true, true, true} {
		if (a[i] == b[i]) != same {
			t.Errorf("operation %d: ranks 0 and 1 are in %x and %x", i, a[i], b[i])
		}
	}
	for i, same := range []bool{true, false, false, true, true, true, true} {
		if (a[i] == c[i]) != same {
			t.Errorf("operation %d: ranks 0 and 2 are in %x and %x", i, a[i], c[i])
		}
	}
	if d[1] != c[1] || d[3] != 0 || a[0] == a[3] || a[1] == a[3] || a[4] == a[0] || a[5] != 0 || a[6] != 0 ||
		int64(a[1]) <= 0 {
		t.Errorf("ids %x, %x, %x and %x", a, b, c, d)
	}
}
