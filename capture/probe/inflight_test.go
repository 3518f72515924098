package probe_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// One look at a machine on which nothing is in flight: what the tracer pays once a
// second. docs/in-flight.md has what it printed.
func BenchmarkInFlight(b *testing.B) {
	kerneltest.Require(b)
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	var r probe.Records
	for b.Loop() {
		if _, err := tr.InFlight(nil, nil, &r); err != nil {
			b.Fatal(err)
		}
	}
}

// A thread that waits for a lock in a call for a second is reported, with who holds it and
// where it is.
func TestACallThatDoesNotReturnIsReported(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	answer, _ := b.do("hang cudaStreamSynchronize on=lock at=cuStreamSynchronize stream=7")
	began := time.Now()
	var list []event.InFlight
	for end := began.Add(20 * time.Second); len(list) == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		b.tracer.Drain(&b.records, 1<<30)
		var err error
		if list, err = b.tracer.InFlight(list, nil, &b.records); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) != 1 {
		t.Fatalf("%d calls in flight: %+v", len(list), list)
	}
	f := list[0]
	inner, _ := event.ByName("cuStreamSynchronize")
	if f.Op.String() != "cudaStreamSynchronize" || f.Inner != inner.Op || fmt.Sprint(f.TID) != answer["tid"] ||
		int(f.PID) != b.victim.PID() || f.Args[0] != 7 ||
		f.Doing != event.Blocked || f.Class != event.Futex || fmt.Sprint(f.Holder.TID) != answer["holder"] ||
		f.HolderComm != "victim-holding" ||
		f.Age() < uint64(probe.MinFlight) || f.Age() > uint64(time.Since(began)) || len(f.Kernel) == 0 {
		t.Errorf("%+v, want what %v says", f, answer)
	}
	whole := slices.ContainsFunc(b.records.Stacks,
		func(s probe.RawStack) bool { return s.ID == f.Stack && !s.Cut && len(s.Addrs) > 8 })
	if f.Stack == 0 || !whole {
		t.Errorf("its stack is not whole: %+v", b.records.Stacks)
	}
	b.do("release")
}
