package probe

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
)

// wordUnwinder takes each word of the stack for a return address, and a stack
// that ends in 0 for whole. It notes the other calls of its methods.
type wordUnwinder struct{ noted []string }

func (*wordUnwinder) Arch() *unwind.Arch { return unwind.AMD64 }

func (*wordUnwinder) Unwind(_ int, r unwind.Regs, stack *unwind.Memory) (addrs []uint64, whole bool) {
	addrs = []uint64{r.PC}
	for b := stack.Data; len(b) >= 8; b = b[8:] {
		a := binary.LittleEndian.Uint64(b)
		if a == 0 {
			return addrs, true
		}
		addrs = append(addrs, a)
	}
	return addrs, false
}

func (u *wordUnwinder) Learn(pid int)   { u.noted = append(u.noted, fmt.Sprint("learn ", pid)) }
func (u *wordUnwinder) Refresh(pid int) { u.noted = append(u.noted, fmt.Sprint("refresh ", pid)) }

func (u *wordUnwinder) Unmapped(pid int) { u.noted = append(u.noted, fmt.Sprint("unmapped ", pid)) }
func (u *wordUnwinder) Recheck()         { u.noted = append(u.noted, "recheck") }
func (u *wordUnwinder) Forget(pid int)   { u.noted = append(u.noted, fmt.Sprint("forget ", pid)) }
func (u *wordUnwinder) Fork(parent, child int) {
	u.noted = append(u.noted, fmt.Sprintf("fork %d of %d", child, parent))
}
func (*wordUnwinder) News(list []unwind.News) []unwind.News { return list }
func (*wordUnwinder) Close()                                {}

// stackRec is a record of a stack of process 11 with the given words, and space
// behind them that the kernel did not fill.
func stackRec(tid uint32, start, pc uint64, words ...uint64) []byte {
	w := bpf.WireStackRec{
		H: bpf.WireHdr{Start: start, Tid: tid, Kind: uint8(bpf.WireKindKIND_STACK)}, Tgid: 11,
		Len: uint32(8 * len(words)), Pc: pc,
	}
	b := wire(w)
	for _, v := range words {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return aligned(append(b, make([]byte, 64)...))
}

// The stack of a code sample is the sample's, also if it comes at the time of a call.
func TestCodeSamplesHaveTheirStacks(t *testing.T) {
	sampled := stackRec(1, 100, 0xa, 0xb, 0)
	sampled[unsafe.Offsetof(bpf.WireHdr{}.Sub)] = byte(bpf.WireStackOfSTACK_OF_CODE)
	record := func(start uint64, of bpf.WireStackOf) bpf.WireCodeRec {
		return bpf.WireCodeRec{
			H:    bpf.WireHdr{Start: start, Tid: 1, Kind: uint8(bpf.WireKindKIND_CODE), Sub: uint8(of)},
			Tgid: 11, Nr: -1,
		}
	}
	code := record(100, bpf.WireStackOfSTACK_OF_CODE)
	code.Nr, code.Nstack, code.Stack[0], code.Stack[1] = 39, 16, 0xf1, 0xf2
	alone := record(200, bpf.WireStackOfSTACK_OF_CODE)
	alone.H.Op, alone.Nstack = 7, -14
	asleep := record(300, bpf.WireStackOfSTACK_OF_WAIT)
	asleep.Nr = 230
	slept := stackRec(1, 300, 0xa, 0xb, 0)
	slept[unsafe.Offsetof(bpf.WireHdr{}.Sub)] = byte(bpf.WireStackOfSTACK_OF_WAIT)
	r := decodeAll(sampled, wire(code), wire(alone), wire(callRec(1, 100)), slept, wire(asleep))
	thread, id := event.Thread{PID: 11, TID: 1}, StackID(11, []uint64{0xa, 0xb})
	want := []event.CodeSample{
		{Thread: thread, Syscall: 39, Stack: id, Kernel: []uint64{0xf1, 0xf2}},
		{Thread: thread, Op: 7, Syscall: -1},
		{Thread: thread, Syscall: 230, Stack: id, Waits: true},
	}
	for i := range r.CodeSamples {
		r.CodeSamples[i].At = 0
	}
	if !reflect.DeepEqual(r.CodeSamples, want) {
		t.Errorf("samples %+v, want %+v", r.CodeSamples, want)
	}
	if len(r.Calls) != 1 || r.Calls[0].Stack != 0 {
		t.Errorf("the call has the sample's stack: %+v", r.Calls)
	}
	if len(r.Stacks) != 2 || !r.Stacks[0].Code || !r.Stacks[1].Code || r.Stacks[0].ID != id || r.Malformed != 0 {
		t.Errorf("stacks %+v, %d malformed", r.Stacks, r.Malformed)
	}
}

func TestStackBelongsToTheNextCallOfItsThread(t *testing.T) {
	r := decodeAll(
		stackRec(1, 100, 0xa, 0xb, 0),
		wire(callRec(2, 100)), // another thread, by chance at the same time
		wire(callRec(1, 100)),
		wire(callRec(1, 100)), // had none
		stackRec(3, 200, 0xc),
		wire(callRec(3, 300)), // the stack's own call was dropped
		wire(callRec(3, 200)),
	)
	id := StackID(11, []uint64{0xa, 0xb})
	want := []uint64{0, id, 0, 0, 0}
	var got []uint64
	for _, c := range r.Calls {
		got = append(got, c.Stack)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stacks %x, want %x", got, want)
	}
	stacks := []RawStack{
		{ID: id, PID: 11, TID: 1, Addrs: []uint64{0xa, 0xb}},
		{ID: StackID(11, []uint64{0xc}), PID: 11, TID: 3, Addrs: []uint64{0xc}, Cut: true},
	}
	if !reflect.DeepEqual(r.Stacks, stacks) {
		t.Errorf("got %+v, want %+v", r.Stacks, stacks)
	}
	if r.Malformed != 0 || r.Len() != 7 {
		t.Errorf("%d malformed of %d", r.Malformed, r.Len())
	}
}

// What was copied by pages is read where it was: behind the gap too, and not where a page
// could not be read.
func TestStackMemoryOfPages(t *testing.T) {
	w := &bpf.WireStackRec{Sp: 0x7f0000000ff0, Far: 0x7f0000400000, Pages: [2]uint64{^uint64(0) &^ (1 << 1), ^uint64(0)}}
	data := make([]byte, (nearPages+2)*unwind.PageBytes)
	put := func(page, at int, v uint64) { binary.LittleEndian.PutUint64(data[page*unwind.PageBytes+at:], v) }
	put(0, 0xff0, 1)
	put(1, 0, 2)
	put(nearPages-1, 0xff8, 3)
	put(nearPages, 0, 4)
	put(nearPages+1, 0xff8, 5)
	mem := stackMemory(w, data)
	for _, c := range []struct {
		addr, want uint64
		ok         bool
	}{
		{0x7f0000000ff0, 1, true},
		{0x7f0000000ff9, 0, false}, // its last byte is in a page that could not be read
		{0x7f0000001000, 0, false},
		{0x7f0000000000 + nearPages*unwind.PageBytes - 8, 3, true},
		{0x7f0000000000 + nearPages*unwind.PageBytes - 7, 0, false}, // into the gap
		{0x7f0000000000 + nearPages*unwind.PageBytes, 0, false},
		{0x7f00003ffff8, 0, false},
		{0x7f0000400000, 4, true},
		{0x7f0000401ff8, 5, true},
		{0x7f0000401ff9, 0, false},
		{0x7effffffffff, 0, false},
	} {
		if v, ok := mem.Word(c.addr); v != c.want || ok != c.ok {
			t.Errorf("%#x: got %d, %v, want %d, %v", c.addr, v, ok, c.want, c.ok)
		}
	}
}

func TestStackLongerThanItsRecordIsMalformed(t *testing.T) {
	for _, n := range []uint32{89, 1 << 20, math.MaxUint32} {
		b := stackRec(1, 100, 0xa, 0xb, 0)
		binary.LittleEndian.PutUint32(b[20:], n)
		if r := decodeAll(b); r.Malformed != 1 || len(r.Stacks) != 0 {
			t.Errorf("%d bytes: got %+v", n, r)
		}
	}
}

func TestUnwinderLearnsOfProcessesAndForgetsThemWithTheLastStack(t *testing.T) {
	u := new(wordUnwinder)
	d, r := newDecoder(offset, u, proc.New("")), new(Records)
	life := func(k event.LifeKind, tid uint32) {
		d.record(wire(bpf.WireLifeRec{
			H: bpf.WireHdr{Tid: tid, Kind: uint8(bpf.WireKindKIND_LIFE), Sub: uint8(k)}, Tgid: 11,
			Ptgid: 10,
		}), r)
	}
	life(event.LifeFork, 12) // a thread
	life(event.LifeFork, 11)
	life(event.LifeFirst, 12)
	life(event.LifeExit, 12) // a thread
	life(event.LifeExec, 11)
	life(event.LifeExit, 11)
	d.record(stackRec(11, 100, 0xa, 0xb, 0), r)
	if want := []string{"fork 11 of 10", "learn 11"}; !reflect.DeepEqual(u.noted, want) {
		t.Errorf("noted %q, want %q", u.noted, want)
	}
	d.forget()
	d.forget()
	if want := []string{"fork 11 of 10", "learn 11", "forget 11"}; !reflect.DeepEqual(u.noted, want) {
		t.Errorf("noted %q, want %q", u.noted, want)
	}
}

func TestStackIDs(t *testing.T) {
	seen := map[uint64]bool{0: true}
	for _, s := range []RawStack{
		{PID: 1},
		{PID: 2},
		{PID: 1, Addrs: []uint64{1}},
		{PID: 1, Addrs: []uint64{1, 2}},
		{PID: 1, Addrs: []uint64{2, 1}},
		{PID: 2, Addrs: []uint64{1, 2}},
	} {
		id := StackID(s.PID, s.Addrs)
		if seen[id] || id != StackID(s.PID, s.Addrs) {
			t.Errorf("%+v: id %x is not its own", s, id)
		}
		seen[id] = true
	}
}
