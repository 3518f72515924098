package agent

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// names is a script of records and what becomes known of kernels.
type names struct {
	t *testing.T
	k *kernels
}

func newNames(t *testing.T) *names {
	k := newKernels(nil)
	k.symbol = func(_ int, addr uint64) string {
		return map[uint64]string{0x100: "_Z3addPf", 0x200: "__device_stub__Z4copyPf"}[addr]
	}
	k.read = func(_ int, addr uint64) string { return map[uint64]string{0x9000: "_Z5fetchPf"}[addr] }
	return &names{t, k}
}

// drain observes the records of one drain, and wants the names of kernels that
// become known with it.
func (n *names) drain(r probe.Records, want ...store.Kernel) {
	n.t.Helper()
	if diff := cmp.Diff(want, n.k.observe(&r, nil, nil)); diff != "" {
		n.t.Error(diff)
	}
}

func launch(pid uint32, fn uint64) event.Call {
	i, _ := event.ByName("cudaLaunchKernel")
	return event.Call{Thread: event.Thread{PID: pid, TID: pid}, Op: i.Op, Args: [event.NumArgs]uint64{fn}}
}

func life(kind event.LifeKind, at uint64, pid, parent uint32) event.Life {
	return event.Life{
		At: at, Kind: kind, Thread: event.Thread{PID: pid, TID: pid},
		Parent: event.Thread{PID: parent, TID: parent},
	}
}

func registered(at uint64, pid uint32, fn uint64, name string) probe.KernelName {
	return probe.KernelName{At: at, PID: pid, Kind: probe.NameRegistered, Func: fn, From: 0x9000, Name: name}
}

func TestKernelsAreNamedWhenTheyAreFirstLaunched(t *testing.T) {
	n := newNames(t)
	gemm := store.Kernel{
		PID: 1, Func: 0x300, Name: "gemm<128>", Symbol: "_Z4gemmILi128EEvPf",
		Source: store.KernelRegistered,
	}
	malloc, _ := event.ByName("cudaMalloc")
	n.drain(probe.Records{KernelNames: []probe.KernelName{registered(1, 1, 0x300, gemm.Symbol)}})
	n.drain(probe.Records{Records: event.Records{Calls: []event.Call{
		launch(1, 0x300), launch(1, 0x300), launch(1, 0x100), launch(1, 0x200), launch(1, 0x999),
		{Thread: event.Thread{PID: 1, TID: 1}, Op: malloc.Op, Args: [event.NumArgs]uint64{0x100}},
	}}},
		gemm,
		store.Kernel{PID: 1, Func: 0x100, Name: "add", Symbol: "_Z3addPf", Source: store.KernelBySymbol},
		store.Kernel{PID: 1, Func: 0x200, Name: "copy", Symbol: "_Z4copyPf", Source: store.KernelBySymbol})
	n.drain(probe.Records{Records: event.Records{Calls: []event.Call{launch(1, 0x300), launch(1, 0x999)}}})
	n.drain(probe.Records{Records: event.Records{Calls: []event.Call{launch(2, 0x100)}}},
		store.Kernel{PID: 2, Func: 0x100, Name: "add", Symbol: "_Z3addPf", Source: store.KernelBySymbol})
}

func TestANameThatComesAfterTheLaunchIsRecordedOnce(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{Records: event.Records{Calls: []event.Call{launch(1, 0x300)}}})
	n.drain(probe.Records{KernelNames: []probe.KernelName{
		registered(1, 1, 0x300, "late"),
		registered(1, 1, 0x300, "late"),
	}},
		store.Kernel{PID: 1, Func: 0x300, Name: "late", Symbol: "late", Source: store.KernelRegistered})
}

func TestANameNotReadInTheKernelIsReadFromTheProcess(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{
		KernelNames: []probe.KernelName{registered(1, 1, 0x300, "")},
		Records:     event.Records{Calls: []event.Call{launch(1, 0x300)}},
	},
		store.Kernel{PID: 1, Func: 0x300, Name: "fetch", Symbol: "_Z5fetchPf", Source: store.KernelRegistered})
}

func TestAFunctionOfAKernelHasTheKernelsName(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{KernelNames: []probe.KernelName{
		{At: 1, PID: 1, Kind: probe.NameLoaded, Func: 0x7000, Name: "triton_add"},
		{At: 2, PID: 1, Kind: probe.NameSame, Func: 0x7100, From: 0x7000},
		{At: 3, PID: 1, Kind: probe.NameSame, Func: 0x7200, From: 0x1234},
	}, Records: event.Records{
		Calls: []event.Call{launch(1, 0x7100), launch(1, 0x7200)},
	}},
		store.Kernel{PID: 1, Func: 0x7100, Name: "triton_add", Symbol: "triton_add", Source: store.KernelLoaded})
}

// A program compiled with CUDA 13 launches by a handle that was made of the host function.
func TestAHandleHasTheNameOfItsHostFunction(t *testing.T) {
	n := newNames(t)
	same := func(fn, of uint64) probe.KernelName {
		return probe.KernelName{At: 1, PID: 1, Kind: probe.NameSame, Func: fn, From: of}
	}
	// Of one the registration was seen, of one it was not, and one becomes known later.
	n.drain(probe.Records{KernelNames: []probe.KernelName{
		registered(1, 1, 0x300, "gemm"), same(0x7000, 0x300), same(0x7100, 0x7000), same(0x7200, 0x200), same(0x7300, 0x400),
	}, Records: event.Records{
		Calls: []event.Call{launch(1, 0x7000), launch(1, 0x7100), launch(1, 0x7200), launch(1, 0x7300)},
	}},
		store.Kernel{PID: 1, Func: 0x7000, Name: "gemm", Symbol: "gemm", Source: store.KernelRegistered},
		store.Kernel{PID: 1, Func: 0x7100, Name: "gemm", Symbol: "gemm", Source: store.KernelRegistered},
		store.Kernel{PID: 1, Func: 0x7200, Name: "copy", Symbol: "_Z4copyPf", Source: store.KernelBySymbol},
	)
	// Handles that are made of one another have no name, and no end.
	n.drain(probe.Records{
		KernelNames: []probe.KernelName{same(0x7400, 0x7500), same(0x7500, 0x7400)},
		Records:     event.Records{Calls: []event.Call{launch(1, 0x7400)}},
	})
}

func TestNamesFollowAForkAndEndWithTheProgram(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{KernelNames: []probe.KernelName{registered(1, 1, 0x300, "old")}})
	n.drain(probe.Records{Records: event.Records{
		Lives: []event.Life{life(event.LifeFork, 2, 2, 1)},
		Calls: []event.Call{launch(2, 0x300)},
	}},
		store.Kernel{PID: 2, Func: 0x300, Name: "old", Symbol: "old", Source: store.KernelRegistered})
	// The new program registers its own in the same drain.
	n.drain(probe.Records{
		Records: event.Records{
			Lives: []event.Life{life(event.LifeExec, 10, 2, 0)},
			Calls: []event.Call{launch(2, 0x300), launch(2, 0x400)},
		},
		KernelNames: []probe.KernelName{registered(9, 2, 0x400, "older"), registered(11, 2, 0x300, "new")},
	}, store.Kernel{PID: 2, Func: 0x300, Name: "new", Symbol: "new", Source: store.KernelRegistered})
	// What a process did may be drained after its end; its id may come back later.
	n.drain(probe.Records{Records: event.Records{Lives: []event.Life{life(event.LifeExit, 20, 1, 0)}}})
	n.drain(probe.Records{Records: event.Records{Calls: []event.Call{launch(1, 0x300)}}},
		store.Kernel{PID: 1, Func: 0x300, Name: "old", Symbol: "old", Source: store.KernelRegistered})
	n.k.observe(&probe.Records{Records: event.Records{Calls: []event.Call{launch(1, 0x300)}}}, []uint32{1}, nil)
	if n.k.known != 1 {
		t.Errorf("%d names are kept, want that of process 2", n.k.known)
	}
}

func TestNamesBeyondTheBoundAreCounted(t *testing.T) {
	n := newNames(t)
	n.k.known = maxKernelNames
	n.drain(probe.Records{
		KernelNames: []probe.KernelName{registered(1, 1, 0x300, "one too many")},
		Records:     event.Records{Calls: []event.Call{launch(1, 0x300)}},
	})
	if dropped := n.k.missed(); dropped != 1 {
		t.Errorf("%d names dropped, want 1", dropped)
	}
	if dropped := n.k.missed(); dropped != 0 {
		t.Errorf("%d names counted as dropped twice", dropped)
	}
}

func TestStringsAreReadAcrossPages(t *testing.T) {
	text := make([]byte, 3*4096)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	for _, n := range []int{0, 1, 100, 4000} {
		text[100+n] = 0
		if got := readString(selfPID(), addressOf(&text[100])); got != string(text[100:100+n]) {
			t.Errorf("%d bytes read as %d", n, len(got))
		}
		text[100+n] = 'x'
	}
	if got := readString(selfPID(), addressOf(&text[0])); len(got) != 4056 {
		t.Errorf("a string without an end is %d bytes long", len(got))
	}
	if got := readString(selfPID(), 8); got != "" {
		t.Errorf("unmapped memory reads %q", got)
	}
}

func selfPID() int { return os.Getpid() }

func addressOf(b *byte) uint64 { return uint64(uintptr(unsafe.Pointer(b))) }

// TestAReadThatDoesNotEndIsGivenUp: the recorder goes on without the name, and does
// not pile up threads that wait.
func TestAReadThatDoesNotEndIsGivenUp(t *testing.T) {
	hang, asked := make(chan struct{}), make(chan struct{}, 100)
	read := withTimeout(func(_ int, addr uint64) string {
		asked <- struct{}{}
		if addr == 0 {
			<-hang
		}
		return "name"
	}, 10*time.Millisecond)
	for range 2 * maxStuck {
		if got := read(1, 0); got != "" {
			t.Fatalf("a read that hangs returned %q", got)
		}
	}
	if n := len(asked); n != maxStuck {
		t.Errorf("%d reads wait, want %d", n, maxStuck)
	}
	if got := read(1, 1); got != "" {
		t.Errorf("read %q although %d wait", got, maxStuck)
	}
	close(hang)
	for read(1, 1) != "name" { // until those that hung have ended
		runtime.Gosched()
	}
}

// A program may launch functions at any address. What is known of launched ones is bounded, and other programs keep
// theirs.
func TestLaunchedFunctionsThatAreKnownAreBounded(t *testing.T) {
	t.Parallel()
	k := newKernels(nil)
	k.symbol = func(int, uint64) string { return "f" }
	k.launched(new(launch(1, 0x100)))
	for fn := range uint64(maxLaunched / 2) {
		for pid := range uint32(2 * maxAllLaunched / maxLaunched) {
			k.launched(new(launch(2+pid, fn<<4+0x1000)))
		}
	}
	for fn := range uint64(2 * maxLaunched) {
		k.launched(new(launch(2, fn<<4+1)))
		k.fresh = k.fresh[:0]
	}
	sum := 0
	for pid, p := range k.procs {
		sum += p.launched()
		if p.launched() > maxLaunched {
			t.Errorf("%d functions of process %d are known", p.launched(), pid)
		}
	}
	if sum != k.told || sum > maxAllLaunched || len(k.procs[1].recorded) != 1 {
		t.Errorf("%d functions are known, %d are counted, %d of another process", sum, k.told, len(k.procs[1].recorded))
	}
	for pid := range k.procs {
		k.forget(pid)
	}
	if k.told != 0 {
		t.Errorf("%d are counted of processes that ended", k.told)
	}
}
