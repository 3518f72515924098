package probe

import (
	"testing"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
)

func TestAStackIsBelievedIfItLeadsOutOfAllCalls(t *testing.T) {
	const tramp = 0x7fff_ffff_e000
	w := &bpf.WireReturns{Tramp: tramp}
	// A tail call shares the place of the return address.
	copy(w.Ret[:], []bpf.WireReturnAddr{
		{At: 0x1008, To: 0x11}, {At: 0x1020, To: tramp}, {At: 0x1020, To: 0x22}, {At: 0x1028, To: 0x33},
	})
	m := &unwind.Memory{}
	m.Trampoline, m.Returns = returnsOf(w)
	if !leadsOut(m, []uint64{9, 0x11, 8, 0x22, 0x33, 7}) || leadsOut(m, []uint64{9, 0x22, 0x11, 0x33}) ||
		leadsOut(m, []uint64{9, 0x11}) {
		t.Error("stacks that lead out of the calls are not distinguished")
	}
	if leadsOut(&unwind.Memory{}, []uint64{1}) {
		t.Error("a stack is believed although no call is known")
	}
}

func TestStateOfAThreadInACall(t *testing.T) {
	d := newDecoder(1000, nil, proc.New(""))
	sync, _ := event.ByName("cudaStreamSynchronize")
	record := func(change func(*bpf.WireFlightRec)) event.InFlight {
		w := &bpf.WireFlightRec{Tgid: 1, Gpu: 2, Nr: 202, Class: uint8(event.Futex), Uaddr: 0xdead, In: 40}
		w.H.Start, w.H.Tid, w.H.Sub = 100, 2, 1
		w.Call[0].Start, w.Call[0].Op, w.Call[0].Arg[0] = 10, uint32(sync.Op), 7
		w.V[event.Sleep] = 5
		change(w)
		return d.flight(w)
	}
	f := record(func(w *bpf.WireFlightRec) { w.Out, w.State = 30, 1 })
	if f.Doing != event.Blocked || f.Class != event.Futex || f.Since != 1030 || f.NS[event.Futex] != 70 ||
		f.OnCPU != 90-75 || f.Futex != 0xdead ||
		f.Start != 1010 || f.At != 1100 || f.Op != sync.Op || f.Args[0] != 7 || f.GPU != 1 || f.Syscall != 202 {
		t.Errorf("blocked: %+v", f)
	}
	f = record(func(w *bpf.WireFlightRec) { w.Out, w.Wake = 30, 80 })
	if f.Doing != event.Runnable || f.Since != 1080 || f.NS[event.Futex] != 50 || f.NS[event.RunQueue] != 20 {
		t.Errorf("woken: %+v", f)
	}
	f = record(func(w *bpf.WireFlightRec) { w.Out = 30; w.Class = uint8(event.RunQueue) })
	if f.Doing != event.Runnable || f.NS[event.RunQueue] != 70 {
		t.Errorf("preempted: %+v", f)
	}
	f = record(func(*bpf.WireFlightRec) {})
	if f.Doing != event.Running || f.Since != 1040 || f.OnCPU != 85 || f.Futex != 0 || f.Syscall != -1 {
		t.Errorf("running: %+v", f)
	}
	f = record(func(w *bpf.WireFlightRec) { w.Out, w.State, w.H.Sub = 30, 1, 0 })
	if f.Op != 0 || f.Start != f.Since || f.NS[event.Futex] != 0 {
		t.Errorf("in no call: %+v", f)
	}
}
