package probe

import (
	"hash/fnv"
	"slices"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
)

// RawStack is a user stack before its addresses are resolved.
type RawStack struct {
	ID       uint64
	PID, TID uint32
	Addrs    []uint64       // innermost first
	Cut      bool           // some callers could not be found
	Python   []python.Frame // the Python frames of the same moment, innermost first, resolved
	Code     bool           // of a code sample, not of a call
}

// unwinder finds the callers in copied stacks. Its life-cycle methods keep it up to
// date on what processes have mapped.
type unwinder interface {
	Unwind(pid int, r unwind.Regs, stack *unwind.Memory) (addrs []uint64, whole bool)
	Arch() *unwind.Arch
	Learn(pid int)
	Refresh(pid int)
	Unmapped(pid int)
	Recheck()
	Fork(parent, child int)
	Forget(pid int)
	News(list []unwind.News) []unwind.News
	Close()
}

// maxPending bounds the stacks that wait for their call.
const maxPending = 4096

type rawStack struct{ start, id uint64 }

func (d *decoder) stack(b []byte, r *Records) bool {
	w, ok := as[bpf.WireStackRec](b)
	if !ok {
		return false
	}
	data := b[unsafe.Sizeof(*w):]
	if uint64(w.Len) > uint64(len(data)) {
		return false
	}
	arch := d.unwind.Arch()
	mem := stackMemory(w, data[:w.Len])
	mem.Trampoline, mem.Returns = returnsOf(&w.Returns)
	addrs, whole := d.unwind.Unwind(int(w.Tgid), arch.Start(w.Pc, w.Sp, w.Reg[:]), mem)
	s := RawStack{
		ID: StackID(w.Tgid, addrs), PID: w.Tgid, TID: w.H.Tid, Addrs: addrs, Cut: !whole,
		Code: bpf.WireStackOf(w.H.Sub) != bpf.WireStackOfSTACK_OF_CALL,
	}
	if p, ok := d.python.takeStack(w.H.Tid, w.H.Start); ok {
		s.ID, s.Python = mixed(s.ID, p.hash), p.frames
	}
	d.keepStack(r, w.H.Start, s)
	return true
}

// Stacks that need more than 4 KB are copied by pages: nearPages from the one of the
// stack pointer up, the others from w.Far up (capture/bpf/include/ustack.h).
const (
	nearPages = 96
	farPages  = 32
)

// stackMemory is what was copied of a stack.
func stackMemory(w *bpf.WireStackRec, data []byte) *unwind.Memory {
	if w.Far == 0 {
		return &unwind.Memory{Base: w.Sp, Data: data}
	}
	return &unwind.Memory{
		Base: w.Sp &^ (unwind.PageBytes - 1), Data: data, Near: nearPages * unwind.PageBytes, Far: w.Far, Pages: w.Pages[:],
	}
}

// returnsOf are the return addresses that the kernel replaced, and by what.
func returnsOf(w *bpf.WireReturns) (trampoline uint64, list []unwind.Return) {
	for _, r := range w.Ret {
		if r.At == 0 {
			break
		}
		list = append(list, unwind.Return{At: r.At, To: r.To})
	}
	return w.Tramp, list
}

// keepStack adds a stack and keeps its id for the call of the thread that began at
// start.
func (d *decoder) keepStack(r *Records, start uint64, s RawStack) {
	if len(d.pending) >= maxPending { // their calls were dropped
		clear(d.pending)
	}
	d.pending[s.TID] = rawStack{start, s.ID}
	r.Stacks = append(r.Stacks, s)
}

// takeStack returns the id of the stack that a thread had at start, 0 if there is none.
func (d *decoder) takeStack(r *Records, start uint64, t event.Thread, code bool) (id uint64) {
	if s, ok := d.python.takeStack(t.TID, start); ok { // its native stack was dropped, or could not be walked
		d.keepStack(r, start, RawStack{ID: mixed(0, s.hash), PID: t.PID, TID: t.TID, Python: s.frames, Code: code})
	}
	if len(d.pending) == 0 {
		return 0
	}
	s, ok := d.pending[t.TID]
	if !ok {
		return 0
	}
	delete(d.pending, t.TID)
	if s.start != start {
		return 0
	}
	return s.id
}

// codeSample adds what a thread ran when a timer interrupted it, or where it went to sleep.
func (d *decoder) codeSample(b []byte, r *Records) bool {
	w, ok := as[bpf.WireCodeRec](b)
	if !ok {
		return false
	}
	s := event.CodeSample{
		At: w.H.Start + d.toUnix, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Comm: comm(&w.Comm),
		Op: event.Op(w.H.Op), Syscall: max(w.Nr, -1),
		Waits: bpf.WireStackOf(w.H.Sub) == bpf.WireStackOfSTACK_OF_WAIT,
	}
	s.Stack = d.takeStack(r, w.H.Start, s.Thread, true)
	if n := int(w.Nstack) / 8; n > 0 && n <= len(w.Stack) {
		s.Kernel = append([]uint64(nil), w.Stack[:n]...)
	}
	r.CodeSamples = append(r.CodeSamples, s)
	return true
}

// forget drops the data of processes that ended or executed another program, once their
// stacks in the ring are unwound.
func (d *decoder) forget() {
	for _, pid := range d.ended {
		d.unwind.Forget(int(pid))
	}
	d.ended = d.ended[:0]
	for _, t := range d.over {
		if t.PID == t.TID {
			d.owners.Forget(t.PID)
		} else {
			d.owners.Ended(t.PID, t.TID)
		}
	}
	d.over = d.over[:0]
}

// ends notes that a process's mappings are gone: it ended or executed another program.
func (d *decoder) ends(pid uint32) {
	if !slices.Contains(d.ended, pid) {
		d.ended = append(d.ended, pid)
	}
}

// StackID is the FNV-1a hash of a process and its return addresses, never 0.
// pid 0 is the kernel.
func StackID(pid uint32, addrs []uint64) uint64 {
	h := fnv.New64a()
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&pid)), 4))
	if len(addrs) > 0 {
		h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&addrs[0])), 8*len(addrs)))
	}
	return max(h.Sum64(), 1)
}
