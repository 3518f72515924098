package agent

import (
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

const sec = 1_000_000_000

func waiting(start, at uint64) event.InFlight {
	i, _ := event.ByName("cudaStreamSynchronize")
	return event.InFlight{Thread: event.Thread{PID: 1, TID: 2}, Op: i.Op, Start: start, At: at, Doing: event.Blocked}
}

// outcome is that of the only change since the last take.
func outcome(t *testing.T, f *inFlightTracker) event.InFlight {
	t.Helper()
	l := f.take(nil)
	if len(l) != 1 {
		t.Fatalf("%d changes, want one: %+v", len(l), l)
	}
	return l[0]
}

func TestHowACallInFlightEnds(t *testing.T) {
	open := func() *inFlightTracker {
		f := newInFlightTracker(proc.New(""))
		f.saw([]event.InFlight{waiting(10, 2*sec)})
		if o := outcome(t, f); o.Outcome != event.StillInFlight || o.End != 0 {
			t.Errorf("seen as %+v", o)
		}
		if n := len(f.status()); n != 1 {
			t.Errorf("%d calls in flight, want one", n)
		}
		return f
	}
	first := waiting(10, 0)
	f := open()
	f.calls([]event.Call{
		{Thread: first.Thread, Op: first.Op, Start: 11, Duration: 3 * sec},
		{Thread: first.Thread, Op: first.Op, Start: 10, Duration: 3 * sec},
	})
	if o := outcome(t, f); o.Outcome != event.Returned || o.Age() != 3*sec {
		t.Errorf("a call that returned: %+v", o)
	}
	f = open()
	f.lives([]event.Life{
		{Kind: event.LifeUnfinished, Thread: first.Thread, At: 3 * sec},
		{Kind: event.LifeExit, Thread: first.Thread, At: 3 * sec},
	})
	if o := outcome(t, f); o.Outcome != event.Died || o.End != 3*sec {
		t.Errorf("a call whose thread ended: %+v", o)
	}
	f = open()
	exit := []event.Life{{Kind: event.LifeExit, Thread: first.Thread, At: 4 * sec}}
	f.lives(exit) // read before the call, which had returned
	f.calls([]event.Call{{Thread: first.Thread, Op: first.Op, Start: 10, Duration: 3 * sec}})
	f.ended(exit)
	if o := outcome(t, f); o.Outcome != event.Returned || o.Age() != 3*sec {
		t.Errorf("a call that returned before its thread ended: %+v", o)
	}
	f = open()
	f.saw(nil) // it returned after the last drain: its record is to come
	if l := f.take(nil); len(l) != 0 || len(f.status()) != 0 {
		t.Errorf("judged before its record could come: %+v", l)
	}
	f.saw(nil)
	if o := outcome(t, f); o.Outcome != event.Left {
		t.Errorf("a call that was left: %+v", o)
	}
	f = open()
	f.saw([]event.InFlight{waiting(4*sec, 6*sec)})
	if l := f.take(nil); len(l) != 2 || l[0].Outcome != event.Left || l[1].Start != 4*sec {
		t.Errorf("another call of the thread: %+v", l)
	}
}

func TestHoldersThatAreInNoCallAreLookedUp(t *testing.T) {
	a, b := waiting(10, 2*sec), waiting(20, 2*sec)
	b.TID = 3
	a.Holder, b.Holder = event.Thread{PID: 1, TID: 3}, event.Thread{PID: 1, TID: 9}
	list := []event.InFlight{a, b}
	asked := holders(list, nil)
	if len(asked) != 1 || asked[0] != 9 {
		t.Errorf("asked for %v, want the one that is in no call", asked)
	}
	if again := holders(list, asked); len(again) != 1 {
		t.Errorf("asked again: %v", again)
	}
	// in a young call
	held := event.InFlight{
		Thread: event.Thread{PID: 1, TID: 9}, Op: a.Op, Start: 2*sec - 7, At: 2 * sec,
		Doing: event.Blocked, Class: event.Sleep,
	}
	f := newInFlightTracker(proc.New(""))
	f.saw(append(list, held))
	for _, o := range f.take(nil) {
		if o.TID == 9 && (o.Op != 0 || o.Inner != a.Op || o.Start != 20) {
			t.Errorf("the holder is reported as %+v, want it for the call that it holds up", o)
		}
	}
	if n := len(f.status()); n != 2 {
		t.Errorf("%d calls in flight, want 2: a holder is none", n)
	}
}
