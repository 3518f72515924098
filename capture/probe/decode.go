package probe

import (
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/lists"
)

// Records is what one drain produced. The slices are reused by the next drain.
type Records struct {
	event.Records
	Stacks      []RawStack
	KernelNames []KernelName
	Code        []unwind.News // what processes have mapped, in the order in which it became known; these are not records
	Malformed   int           // records of unknown kind or size: a bug, counted as event.LostMalformed
}

// Reset empties the records and keeps their memory.
func (r *Records) Reset() { lists.Reset(r) }

// Len is the number of records.
func (r *Records) Len() int { return lists.Len(&r.Records) + len(r.Stacks) + len(r.KernelNames) }

// decoder turns wire records into events. It holds the one conversion from the
// kernel's clock to Unix time.
type decoder struct {
	toUnix  uint64 // Unix ns = CLOCK_MONOTONIC ns + toUnix
	unwind  unwinder
	pending map[uint32]rawStack // by tid: the stack that belongs to its next call
	ended   []uint32            // processes that the unwinder is to forget
	sockets map[uint32]socketAt // by tid: the socket that belongs to its next interval
	python  pythonDecoder
	owners  *proc.OwnTIDs  // of lock words
	over    []event.Thread // whose ids owners is to forget
	masks   [event.OpSlots][event.NumArgs]uint64
}

func newDecoder(toUnix uint64, u unwinder, fs proc.FS) *decoder {
	d := &decoder{
		toUnix: toUnix, unwind: u, pending: map[uint32]rawStack{}, sockets: map[uint32]socketAt{},
		python: newPythonDecoder(), owners: proc.NewOwnTIDs(fs),
	}
	for _, i := range event.Catalog {
		for n, a := range i.Args {
			d.masks[i.Op.Slot()][n] = argMask(a.Unit, i.Shape)
		}
		if i.Op.TellsSite() {
			d.masks[i.Op.Slot()][event.SiteArg] = ^uint64(0)
		}
	}
	return d
}

// argMask masks an argument to its C type: the upper half of the register of a 32-bit
// parameter, and registers beyond the last parameter, are undefined.
func argMask(u event.Unit, s event.Shape) uint64 {
	switch u {
	case event.UnitEnum, event.UnitNone:
		return 0xffffffff
	case event.UnitDevice:
		if s != event.ShapeCopyPeer {
			return 0xffffffff
		}
	}
	return ^uint64(0)
}

// as views a record as a T without copying; ok is false if it is too short.
func as[T any](b []byte) (*T, bool) {
	if len(b) < int(unsafe.Sizeof(*new(T))) {
		return nil, false
	}
	return (*T)(unsafe.Pointer(&b[0])), true
}

// record adds one wire record to r.
func (d *decoder) record(b []byte, r *Records) {
	h, ok := as[bpf.WireHdr](b)
	if !ok {
		r.Malformed++
		return
	}
	switch bpf.WireKind(h.Kind) {
	case bpf.WireKindKIND_CALL:
		ok = d.call(b, r)
	case bpf.WireKindKIND_GAP:
		ok = d.gap(b, r)
	case bpf.WireKindKIND_OFF:
		ok = d.off(b, r)
	case bpf.WireKindKIND_TOTAL:
		ok = d.total(b, r)
	case bpf.WireKindKIND_LIFE:
		ok = d.life(b, r)
	case bpf.WireKindKIND_STACK:
		ok = d.stack(b, r)
	case bpf.WireKindKIND_STALL:
		ok = d.stall(b, r)
	case bpf.WireKindKIND_RECLAIM:
		ok = reclaim(b, r, d.toUnix)
	case bpf.WireKindKIND_SOCK:
		ok = d.socket(b)
	case bpf.WireKindKIND_PYCODE:
		ok = d.python.codeRecord(b)
	case bpf.WireKindKIND_PYSTACK:
		ok = d.python.stackRecord(b)
	case bpf.WireKindKIND_NAME:
		ok = kernelName(b, r, d.toUnix)
	case bpf.WireKindKIND_REQUEST:
		ok = request(b, r, d.toUnix)
	case bpf.WireKindKIND_TCP:
		ok = connection(b, r, d.toUnix)
	case bpf.WireKindKIND_CODE:
		ok = d.codeSample(b, r)
	case bpf.WireKindKIND_MARK:
		ok = markOf(b, r, d.toUnix)
	default:
		ok = false
	}
	if !ok {
		r.Malformed++
	}
}

func (d *decoder) call(b []byte, r *Records) bool {
	w, ok := as[bpf.WireCallRec](b)
	if !ok {
		return false
	}
	r.Calls = append(r.Calls, event.Call{
		Start: w.H.Start + d.toUnix, Duration: w.Dur,
		Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid},
		Op:     event.Op(w.H.Op), Depth: w.H.Sub & 7, GPU: int8(w.H.Sub>>3) - 1,
		Ret: w.Ret, Weight: 1,
	})
	c := &r.Calls[len(r.Calls)-1]
	mask := &d.masks[event.Op(w.H.Op).Slot()]
	for i, a := range w.Arg {
		c.Args[i] = a & mask[i]
	}
	if l, ok := as[bpf.WireCallLedRec](b); ok {
		ledger(&c.Ledger, &l.L)
	}
	c.Stack = d.takeStack(r, w.H.Start, c.Thread, false)
	return true
}

func ledger(l *event.Ledger, w *bpf.WireLed) {
	for i, v := range w.V {
		l.NS[i] = uint64(v) << 4
	}
	l.Voluntary, l.Involuntary = w.Voluntary, w.Involuntary
}

func (d *decoder) gap(b []byte, r *Records) bool {
	w, ok := as[bpf.WireGapRec](b)
	if !ok {
		return false
	}
	g := event.Gap{
		Start: w.H.Start + d.toUnix, Duration: w.Dur,
		Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Next: event.Op(w.H.Op),
	}
	ledger(&g.Ledger, &w.L)
	r.Gaps = append(r.Gaps, g)
	return true
}

func (d *decoder) off(b []byte, r *Records) bool {
	w, ok := as[bpf.WireOffRec](b)
	if !ok {
		return false
	}
	o := event.OffCPU{
		Start: w.H.Start + d.toUnix, Duration: w.Dur, RunQueue: w.Runq,
		Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Comm: comm(&w.Comm),
		Op: event.Op(w.H.Op), Class: event.Class(w.H.Sub), Syscall: w.Nr, State: w.State,
		Dispatch: w.Role&roleDispatch != 0, Followed: w.Role&roleMask == roleFollowed,
		Futex: w.Uaddr, Holder: w.Holder, Inode: w.Ino,
		Waker: event.Thread{PID: w.WakerTgid, TID: w.Waker}, WakerComm: comm(&w.WakerComm), WakerBorn: w.WakerBorn,
		WakerFutex: w.WakerUaddr, WakerSyscall: w.WakerNr,
		OutCPU: w.OutCpu, InCPU: w.InCpu,
	}
	if f, ok := as[bpf.WireOffFullRec](b); ok {
		d.explain(&o, f)
	}
	if o.Holder != 0 {
		o.Holder = d.owners.Host(o.PID, o.Holder)
	}
	if k, ok := d.sockets[w.H.Tid]; ok {
		if k.start == w.H.Start {
			o.Socket = k.Socket
		}
		delete(d.sockets, w.H.Tid)
	}
	r.OffCPU = append(r.OffCPU, o)
	return true
}

// explain adds the details of a full interval record: the tasks that ran, and the
// stack.
func (d *decoder) explain(o *event.OffCPU, f *bpf.WireOffFullRec) {
	o.IdleNS = f.Idle
	for i := range f.Culprit {
		c := &f.Culprit[i]
		if c.Tid == 0 {
			break
		}
		o.Culprits = append(o.Culprits,
			event.Culprit{Thread: event.Thread{PID: c.Tgid, TID: c.Tid}, Comm: comm(&c.Comm), NS: c.Ns, Born: c.Born})
	}
	for i := 1; i < len(o.Culprits); i++ { // most time first; at most four
		for j := i; j > 0 && o.Culprits[j].NS > o.Culprits[j-1].NS; j-- {
			o.Culprits[j], o.Culprits[j-1] = o.Culprits[j-1], o.Culprits[j]
		}
	}
	if n := int(f.Nstack) / 8; n > 0 && n <= len(f.Stack) {
		o.Kernel = append([]uint64(nil), f.Stack[:n]...)
	}
}

func (d *decoder) total(b []byte, r *Records) bool {
	w, ok := as[bpf.WireTotalRec](b)
	if !ok {
		return false
	}
	t := event.ThreadTime{
		At: w.H.Start + d.toUnix, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Comm: comm(&w.Comm),
		OnCPU: w.Oncpu, Runtime: w.Exec, Kernel: w.Kernel, Born: w.Born,
		Dispatch: w.Role&roleDispatch != 0, Followed: w.Role&roleMask == roleFollowed,
	}
	copy(t.NS[:], w.V[:])
	r.ThreadTimes = append(r.ThreadTimes, t)
	return true
}

func (d *decoder) life(b []byte, r *Records) bool {
	w, ok := as[bpf.WireLifeRec](b)
	if !ok {
		return false
	}
	switch k := event.LifeKind(w.H.Sub); {
	case w.H.Tid == w.Tgid && k == event.LifeFork:
		d.unwind.Fork(int(w.Ptgid), int(w.Tgid))
	case k == event.LifeFirst:
		d.unwind.Learn(int(w.Tgid))
	case w.H.Tid == w.Tgid && (k == event.LifeExit || k == event.LifeExec):
		d.ends(w.Tgid)
	}
	switch k := event.LifeKind(w.H.Sub); {
	case k == event.LifeFork && w.H.Tid == w.Tgid: // another process with this id
		d.owners.Forget(w.Tgid)
	case k == event.LifeExit || k == event.LifeExec: // what it did before may still be in the ring
		d.over = append(d.over, event.Thread{PID: w.Tgid, TID: w.H.Tid})
	}
	r.Lives = append(r.Lives, event.Life{
		At: w.H.Start + d.toUnix, Kind: event.LifeKind(w.H.Sub),
		Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Parent: event.Thread{PID: w.Ptgid, TID: w.Ptid},
		Comm: comm(&w.Comm), Op: event.Op(w.H.Op), Duration: w.Dur,
	})
	return true
}

func (d *decoder) stall(b []byte, r *Records) bool {
	w, ok := as[bpf.WireStallRec](b)
	if !ok {
		return false
	}
	r.Stalls = append(r.Stalls, event.Stall{Start: w.H.Start + d.toUnix, Duration: w.Dur, CPU: uint16(w.H.Tid)})
	return true
}

// Roles of capture/bpf/include/event.h.
const (
	roleFollowed = 2
	roleMask     = 3
	roleDispatch = 4
)

func comm(c *[16]int8) string { return bpf.Comm(c) }
