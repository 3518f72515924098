package probe

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

const offset = 1_000_000 // of Unix time to kernel time, in these tests

// wire is a record as it lies in the ring: aligned to 8 bytes.
func wire[T any](v T) []byte {
	return aligned(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

func aligned(b []byte) []byte {
	words := make([]uint64, len(b)/8+1)
	a := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	copy(a, b)
	return a[:len(b)]
}

func decodeAll(records ...[]byte) *Records {
	d, r := newDecoder(offset, new(wordUnwinder), proc.New("")), new(Records)
	for _, b := range records {
		d.record(b, r)
	}
	return r
}

func opOf(t testing.TB, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

func name16(s string) (c [16]int8) {
	for i, b := range []byte(s) {
		c[i] = int8(b)
	}
	return c
}

func hdr(kind bpf.WireKind, op event.Op, sub uint8) bpf.WireHdr {
	return bpf.WireHdr{Start: 5000, Tid: 22, Op: uint16(op), Kind: uint8(kind), Sub: sub}
}

func led() bpf.WireLed {
	l := bpf.WireLed{Voluntary: 3, Involuntary: 1}
	for i := range l.V {
		l.V[i] = uint32(i + 1)
	}
	l.V[10] = math.MaxUint32
	return l
}

func wantLedger() event.Ledger {
	l := event.Ledger{Voluntary: 3, Involuntary: 1}
	for i := range l.NS {
		l.NS[i] = uint64(i+1) * 16
	}
	l.NS[10] = math.MaxUint32 * 16
	return l
}

var (
	at     = uint64(5000 + offset)
	thread = event.Thread{PID: 11, TID: 22}
)

func TestCallsAreDecoded(t *testing.T) {
	op := opOf(t, "cudaMalloc")
	rec := bpf.WireCallRec{
		H: hdr(bpf.WireKindKIND_CALL, op, 2|4<<3), Dur: 700, Tgid: 11, Ret: -7,
		Arg: [4]uint64{1 << 40, 2, 3, 4},
	}
	want := event.Call{
		Start: at, Duration: 700, Thread: thread, Op: op, Depth: 2, GPU: 3, Ret: -7,
		Args: [4]uint64{1 << 40, 2}, Weight: 1, // cudaMalloc has two
	}
	if r := decodeAll(wire(rec)); len(r.Calls) != 1 || r.Calls[0] != want || r.Malformed != 0 {
		t.Errorf("got %+v\nwant %+v", r.Calls, want)
	}
	want.Ledger = wantLedger()
	if r := decodeAll(wire(bpf.WireCallLedRec{C: rec, L: led()})); len(r.Calls) != 1 || r.Calls[0] != want {
		t.Errorf("with a ledger: got %+v\nwant %+v", r.Calls, want)
	}
	rec.H.Sub = 7
	if r := decodeAll(wire(rec)); r.Calls[0].GPU != event.NoGPU || r.Calls[0].Depth != 7 {
		t.Errorf("without a device: got %+v", r.Calls[0])
	}
	rec.H.Sub = 31 << 3
	if r := decodeAll(wire(rec)); r.Calls[0].GPU != 30 {
		t.Errorf("device 30: got %+v", r.Calls[0])
	}
}

func TestArgumentsAreCutToTheirTypes(t *testing.T) {
	const all = math.MaxUint64
	for name, want := range map[string][4]uint64{
		"cudaDeviceSynchronize":        {3: all},
		"cudaSetDevice":                {math.MaxUint32},
		"cudaFree":                     {all},
		"cudaMemcpy":                   {all, math.MaxUint32, all, all},
		"cudaMemcpyPeer":               {all, all, all, all}, // two devices share one
		"cudaMemset":                   {all, all, math.MaxUint32},
		"cudaStreamWaitEvent":          {all, all, math.MaxUint32},
		"cudaStreamCreateWithPriority": {all, math.MaxUint32, math.MaxUint32},
		"cuLaunchKernel":               {all, all, all, all},
	} {
		rec := bpf.WireCallRec{H: hdr(bpf.WireKindKIND_CALL, opOf(t, name), 0), Arg: [4]uint64{all, all, all, all}}
		if got := decodeAll(wire(rec)).Calls[0].Args; got != want {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
	unknown := bpf.WireCallRec{H: hdr(bpf.WireKindKIND_CALL, 0xffff, 0), Arg: [4]uint64{all, all, all, all}}
	if got := decodeAll(wire(unknown)).Calls[0].Args; got != [4]uint64{} {
		t.Errorf("unknown operation: got %x", got)
	}
}

func TestGapsAreDecoded(t *testing.T) {
	op := opOf(t, "cudaFree")
	rec := bpf.WireGapRec{H: hdr(bpf.WireKindKIND_GAP, op, 0), Dur: 90, Tgid: 11, L: led()}
	want := event.Gap{Start: at, Duration: 90, Thread: thread, Next: op, Ledger: wantLedger()}
	if r := decodeAll(wire(rec)); len(r.Gaps) != 1 || r.Gaps[0] != want {
		t.Errorf("got %+v\nwant %+v", r.Gaps, want)
	}
}

func offRec(op event.Op) bpf.WireOffRec {
	return bpf.WireOffRec{
		H: hdr(bpf.WireKindKIND_OFF, op, uint8(event.Futex)), Dur: 100, Runq: 40, Tgid: 11,
		Holder: 33, Waker: 44, WakerTgid: 45, Uaddr: 0x7000, WakerUaddr: 0x7001, Ino: 99, Nr: -1, WakerNr: 202,
		OutCpu: 1, InCpu: 2, State: 1, Role: roleDispatch | roleFollowed,
		Comm: name16("sleeper"), WakerComm: name16("sixteen-bytes-xx"),
		WakerBorn: 77,
	}
}

func TestIntervalsAreDecoded(t *testing.T) {
	op := opOf(t, "cudaFree")
	want := event.OffCPU{
		Start: at, Duration: 100, RunQueue: 40, Thread: thread, Comm: "sleeper", Op: op, Class: event.Futex,
		Syscall: -1, State: 1, Dispatch: true, Followed: true, Futex: 0x7000, Holder: 33, Inode: 99,
		Waker: event.Thread{PID: 45, TID: 44}, WakerComm: "sixteen-bytes-xx", WakerFutex: 0x7001, WakerSyscall: 202,
		OutCPU: 1, InCPU: 2, WakerBorn: 77,
	}
	if r := decodeAll(wire(offRec(op))); len(r.OffCPU) != 1 || !reflect.DeepEqual(r.OffCPU[0], want) {
		t.Errorf("got %+v\nwant %+v", r.OffCPU, want)
	}
	full := bpf.WireOffFullRec{O: offRec(op), Idle: 5, Nstack: 16, Stack: [14]uint64{0xf1, 0xf2, 0xf3}}
	full.O.Role = 1
	full.Culprit[0] = bpf.WireCulprit{Tgid: 1, Tid: 2, Ns: 10, Comm: name16("short")}
	full.Culprit[1] = bpf.WireCulprit{Tgid: 3, Tid: 4, Ns: 30, Born: 88, Comm: name16("long")}
	full.Culprit[3] = bpf.WireCulprit{Tgid: 5, Tid: 6, Ns: 90, Comm: name16("behind the end")}
	want.Dispatch, want.Followed, want.IdleNS, want.Kernel = false, false, 5, []uint64{0xf1, 0xf2}
	want.Culprits = []event.Culprit{
		{Thread: event.Thread{PID: 3, TID: 4}, Comm: "long", NS: 30, Born: 88},
		{Thread: event.Thread{PID: 1, TID: 2}, Comm: "short", NS: 10},
	}
	if r := decodeAll(wire(full)); !reflect.DeepEqual(r.OffCPU[0], want) {
		t.Errorf("got %+v\nwant %+v", r.OffCPU[0], want)
	}
	for _, n := range []int32{-14, 0, 8 * 15, math.MaxInt32, math.MinInt32} {
		full.Nstack = n
		if r := decodeAll(wire(full)); r.OffCPU[0].Kernel != nil || r.Malformed != 0 {
			t.Errorf("stack of %d bytes: got %x", n, r.OffCPU[0].Kernel)
		}
	}
}

func TestKernelStacksAreCopiedFromTheRing(t *testing.T) {
	full := bpf.WireOffFullRec{O: offRec(0), Nstack: 8, Stack: [14]uint64{0xf1}}
	b := wire(full)
	r := decodeAll(b)
	clear(b) // the kernel writes the next record here
	if r.OffCPU[0].Kernel[0] != 0xf1 || r.OffCPU[0].Comm != "sleeper" {
		t.Errorf("got %+v", r.OffCPU[0])
	}
}

func TestTotalsAreDecoded(t *testing.T) {
	rec := bpf.WireTotalRec{
		H: hdr(bpf.WireKindKIND_TOTAL, 0, 0), Tgid: 11, Role: roleDispatch | 1, Oncpu: 7, Exec: 8,
		Kernel: 9, Born: 10, Comm: name16("x"),
	}
	want := event.ThreadTime{At: at, Thread: thread, Comm: "x", OnCPU: 7, Runtime: 8, Kernel: 9, Born: 10, Dispatch: true}
	for i := range rec.V {
		rec.V[i], want.NS[i] = uint64(i)<<33, uint64(i)<<33
	}
	if r := decodeAll(wire(rec)); len(r.ThreadTimes) != 1 || r.ThreadTimes[0] != want {
		t.Errorf("got %+v\nwant %+v", r.ThreadTimes, want)
	}
}

func TestLivesAreDecoded(t *testing.T) {
	rec := bpf.WireLifeRec{
		H: hdr(bpf.WireKindKIND_LIFE, 3, uint8(bpf.WireLifeLIFE_UNFINISHED)), Tgid: 11, Ptid: 1,
		Ptgid: 2, Dur: 9, Comm: name16("\xff\xfe"),
	}
	want := event.Life{
		At: at, Kind: event.LifeUnfinished, Thread: thread, Parent: event.Thread{PID: 2, TID: 1},
		Comm: "\xff\xfe", Op: 3, Duration: 9,
	}
	if r := decodeAll(wire(rec)); len(r.Lives) != 1 || r.Lives[0] != want {
		t.Errorf("got %+v\nwant %+v", r.Lives, want)
	}
}

func callRec(tid uint32, start uint64) bpf.WireCallRec {
	return bpf.WireCallRec{H: bpf.WireHdr{Start: start, Tid: tid, Kind: uint8(bpf.WireKindKIND_CALL)}, Tgid: 11}
}

func TestShortAndUnknownRecordsAreCounted(t *testing.T) {
	kinds := map[bpf.WireKind][]byte{
		bpf.WireKindKIND_CALL:    wire(bpf.WireCallRec{}),
		bpf.WireKindKIND_GAP:     wire(bpf.WireGapRec{}),
		bpf.WireKindKIND_OFF:     wire(bpf.WireOffRec{}),
		bpf.WireKindKIND_TOTAL:   wire(bpf.WireTotalRec{}),
		bpf.WireKindKIND_LIFE:    wire(bpf.WireLifeRec{}),
		bpf.WireKindKIND_STACK:   wire(bpf.WireStackRec{}),
		bpf.WireKindKIND_STALL:   wire(bpf.WireStallRec{}),
		bpf.WireKindKIND_RECLAIM: wire(bpf.WireReclaimRec{}),
		bpf.WireKindKIND_SOCK:    wire(bpf.WireSockRec{}),
		bpf.WireKindKIND_NAME:    wire(bpf.WireNameRec{})[:unsafe.Offsetof(bpf.WireNameRec{}.Name)], // a name may be left out
		bpf.WireKindKIND_REQUEST: wire(bpf.WireRequestRec{}),
		bpf.WireKindKIND_TCP:     wire(bpf.WireTcpRec{}),
		bpf.WireKindKIND_MARK:    wire(bpf.WireMarkRec{}),
		bpf.WireKindKIND_CODE:    wire(bpf.WireCodeRec{}),
	}
	kindAt := unsafe.Offsetof(bpf.WireHdr{}.Kind)
	for kind, b := range kinds {
		b[kindAt] = uint8(kind)
		for n := range b {
			if r := decodeAll(b[:n:n]); r.Malformed != 1 || r.Len() != 0 {
				t.Fatalf("kind %d with %d of %d bytes: %d malformed, %d records", kind, n, len(b), r.Malformed, r.Len())
			}
		}
		if r := decodeAll(b); r.Malformed != 0 {
			t.Errorf("kind %d: malformed", kind)
		}
	}
	for kind := range 256 {
		if _, ok := kinds[bpf.WireKind(kind)]; ok || kind == int(bpf.WireKindKIND_PYSTACK) { // which has no least length
			continue
		}
		b := make([]byte, 512)
		b[kindAt] = uint8(kind)
		if r := decodeAll(aligned(b)); r.Malformed != 1 || r.Len() != 0 {
			t.Errorf("kind %d: %d malformed, %d records", kind, r.Malformed, r.Len())
		}
	}
	r := decodeAll([]byte{})
	if r.Reset(); r.Malformed != 0 || r.Len() != 0 {
		t.Errorf("after Reset: %+v", r)
	}
}

func TestCommsEndAtTheirNUL(t *testing.T) {
	for _, s := range []string{"", "python", "fifteen-bytes-x", strings.Repeat("y", 16)} {
		c := name16(s)
		if got := comm(&c); got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(wire(bpf.WireCallLedRec{C: callRec(1, 2), L: led()}), wire(stackRec(1, 2, 3)))
	f.Add(wire(bpf.WireOffFullRec{O: offRec(3), Nstack: 8}), wire(bpf.WireGapRec{H: hdr(bpf.WireKindKIND_GAP, 1, 1)}))
	f.Add(wire(bpf.WireTotalRec{H: hdr(bpf.WireKindKIND_TOTAL, 0, 0)}),
		wire(bpf.WireLifeRec{H: hdr(bpf.WireKindKIND_LIFE, 0, 200)}))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r := decodeAll(aligned(a), aligned(b), aligned(a))
		if r.Malformed+r.Len() > 3 {
			t.Fatalf("%d malformed and %d records of 3", r.Malformed, r.Len())
		}
	})
}
