package probe

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe/inflight"
	"github.com/ingero-io/ingero/capture/probe/sched"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
)

// MinFlight is how old a call must be to be told by InFlight.
const MinFlight = inflight.MinAge

// inFlightReader reads which threads are in a call that has not returned.
type inFlightReader struct {
	*inflight.Reader
	known map[event.Thread]knownStack
	// memory reads that of processes. A thread may be in a call with its stack in a file whose next page never comes.
	memory limit.Patient
}

// readPatience is how long reading the memory of a process may take.
const readPatience = 500 * time.Millisecond

// knownStack is the stack of a thread that had not moved when it was last seen.
type knownStack struct {
	call, pc, sp uint64
	RawStack
}

// InFlight appends, to list, the calls that have been in progress for MinFlight or longer, the threads that make calls
// and have made none for inflight.MinSilence, and what the threads `asked` do: those that hold what these wait for.
// Stacks that are new are appended to r. It belongs to the goroutine of Drain.
func (t *Tracer) InFlight(list []event.InFlight, asked []uint32, r *Records) ([]event.InFlight, error) {
	if t.inFlight == nil {
		l := t.probe(inflight.Probe)
		if l == nil {
			return list, nil
		}
		t.inFlight = &inFlightReader{
			Reader: inflight.NewReader(l), known: map[event.Thread]knownStack{}, memory: limit.Patient{Wait: readPatience},
		}
	}
	t.inFlight.Ask(asked)
	seen := map[event.Thread]bool{}
	err := t.inFlight.Read(func(w *bpf.WireFlightRec) {
		f := t.decode.flight(w)
		f.Stack = t.flightStack(w, r)
		seen[f.Thread] = true
		t.about(w, &f)
		list = append(list, f)
	})
	r.Code = t.decode.unwind.News(r.Code)
	for k := range t.inFlight.known {
		if !seen[k] {
			delete(t.inFlight.known, k)
		}
	}
	if err != nil {
		return list, fmt.Errorf("read calls in flight: %w", err)
	}
	return list, nil
}

// flight turns a record into an event, but for its stack and what /proc knows.
func (d *decoder) flight(w *bpf.WireFlightRec) event.InFlight {
	f := event.InFlight{
		At: w.H.Start + d.toUnix, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Comm: comm(&w.Comm),
		GPU: int8(w.Gpu) - 1, Syscall: -1, NS: w.V,
	}
	if n := int(min(w.H.Sub, uint8(len(w.Call)))); n > 0 {
		c := &w.Call[0]
		f.Op, f.Start = event.Op(c.Op), c.Start+d.toUnix
		mask := &d.masks[event.Op(c.Op).Slot()]
		for i, a := range c.Arg {
			f.Args[i] = a & mask[i]
		}
		if n > 1 {
			f.Inner = event.Op(w.Call[n-1].Op)
		}
	}
	if w.H.Sub == 0 && w.Silent != 0 {
		f.Silent, f.Start = true, w.Silent+d.toUnix
	}
	now, since := w.H.Start, w.In
	switch blocked := w.Out != 0; {
	case !blocked && w.State == 0:
		f.Doing = event.Running
	case !blocked: // its going to sleep was not reported
		f.Doing, f.Class = event.Blocked, event.Other
	case w.Wake > w.Out:
		f.Doing, since = event.Runnable, w.Wake
		f.NS[event.RunQueue] += after(now, w.Wake)
		f.NS[min(w.Class, uint8(event.Other))] += after(w.Wake, max(w.Out, f.Start-d.toUnix))
	case w.State == 0:
		f.Doing, since = event.Runnable, w.Out
		f.NS[event.RunQueue] += after(now, w.Out)
	default:
		f.Doing, f.Class, since = event.Blocked, event.Class(min(w.Class, uint8(event.Other))), w.Out
		f.NS[f.Class] += after(now, w.Out)
		f.Syscall, f.Inode = w.Nr, w.Ino
		if f.Class == event.Futex {
			f.Futex = w.Uaddr
		}
	}
	if since != 0 {
		f.Since = since + d.toUnix
	}
	if n := int(w.Nstack) / 8; n > 0 && n <= len(w.Stack) {
		f.Kernel = append([]uint64(nil), w.Stack[:n]...)
	}
	if f.Op == 0 && !f.Silent {
		f.Start, f.NS = f.Since, [event.NumClasses]uint64{}
		return f
	}
	var off uint64
	for _, v := range f.NS {
		off += v
	}
	f.OnCPU = after(f.At-f.Start, off)
	return f
}

// after is a - b, or 0.
func after(a, b uint64) uint64 { return a - min(a, b) }

// about adds what /proc knows of a wait.
func (t *Tracer) about(w *bpf.WireFlightRec, f *event.InFlight) {
	if f.Doing != event.Blocked {
		return
	}
	pid := int(w.Tgid)
	if w.Holder != 0 && f.Class == event.Futex {
		// What looks like the owner of a lock may be any number: it must be a thread of the process.
		h := t.decode.owners.Host(w.Tgid, w.Holder)
		if name, err := t.opts.Proc.Comm(pid, int(h)); err == nil && h != 0 && h != w.H.Tid {
			f.Holder, f.HolderComm = event.Thread{PID: w.Tgid, TID: h}, name
		}
	}
	if w.Nr >= 0 && sched.TakesFile(int(w.Nr)) {
		f.File = t.opts.Proc.OpenFile(pid, int(int32(w.Sysarg)))
	}
}

// flightStack finds where a thread is. The registers are those with which it last
// entered the kernel: of a blocked thread they are where it is, and of one that
// runs where it was when it was last interrupted, so that its stack is believed
// only if it leads out of the calls that it is in.
func (t *Tracer) flightStack(w *bpf.WireFlightRec, r *Records) uint64 {
	id := event.Thread{PID: w.Tgid, TID: w.H.Tid}
	call := w.Call[0].Start
	blocked := w.Out != 0 && w.State != 0
	if k, ok := t.inFlight.known[id]; ok && k.call == call && k.pc == w.Pc && k.sp == w.Sp && blocked {
		return k.ID
	}
	if t.opts.Stack == StackOff || w.Sp == 0 {
		return 0
	}
	s := RawStack{PID: w.Tgid, TID: w.H.Tid}
	var whole bool
	if s.Addrs, whole = t.flightCallers(w); len(s.Addrs) > 0 {
		s.ID, s.Cut = StackID(w.Tgid, s.Addrs), !whole
	}
	if frames, hash := t.flightPython(w); len(frames) > 0 {
		s.ID, s.Python = mixed(s.ID, hash), frames
	}
	if s.ID == 0 {
		return 0
	}
	if t.inFlight.known[id].ID != s.ID {
		r.Stacks = append(r.Stacks, s)
	}
	t.inFlight.known[id] = knownStack{call, w.Pc, w.Sp, s}
	return s.ID
}

// flightCallers are the return addresses on a thread's stack; none if they are not to
// be believed.
func (t *Tracer) flightCallers(w *bpf.WireFlightRec) (addrs []uint64, whole bool) {
	stack := t.copyStack(w)
	if len(stack.Data) == 0 {
		return nil, false
	}
	stack.Trampoline, stack.Returns = returnsOf(&w.Returns)
	arch := t.decode.unwind.Arch()
	addrs, whole = t.decode.unwind.Unwind(int(w.Tgid), arch.Start(w.Pc, w.Sp, w.Reg[:]), stack)
	if blocked := w.Out != 0 && w.State != 0; !blocked && !leadsOut(stack, addrs) {
		return nil, false
	}
	return addrs, whole
}

// flightPython are the Python frames of a thread, and their hash.
func (t *Tracer) flightPython(w *bpf.WireFlightRec) ([]python.Frame, uint64) {
	layout, ok := t.python.layouts[w.Tgid]
	if !ok {
		return nil, 0
	}
	pid := int(w.Tgid) // the record is of the caller
	return python.Walk(func(addr uint64, b []byte) bool {
		if len(b) == 0 {
			return true
		}
		read, err := limit.Within(&t.inFlight.memory, func() ([]byte, error) {
			read := make([]byte, len(b)) // b is the caller's again if this takes too long
			n, err := privilege.ReadMemory(pid, addr, read)
			if err != nil {
				return nil, err
			}
			return read[:n], nil
		}, nil)
		return err == nil && copy(b, read) == len(b)
	}, &layout, w.ThreadPointer)
}

// As in capture/bpf/include/ustack.h, in bytes.
const (
	maxStackCopy = (nearPages + farPages) * unwind.PageBytes
	blindCopy    = 8 * unwind.PageBytes
	saneStack    = 64 << 20
	stackSlack   = 64
)

// copyStack reads a thread's stack from its stack pointer up.
func (t *Tracer) copyStack(w *bpf.WireFlightRec) *unwind.Memory {
	top := w.ThreadPointer
	if w.StartStack != 0 {
		top = w.StartStack + stackSlack
	}
	n := top - w.Sp
	if n > saneStack { // a stack of its own
		n = blindCopy
	}
	n = min(n, maxStackCopy)
	if n == 0 {
		return &unwind.Memory{Base: w.Sp}
	}
	data := make([]byte, n)
	const page = 4096 // a read that fails on one page gives those before it only if they are parts of their own
	var remote []unix.RemoteIovec
	for at := uint64(0); at < n; {
		part := min(n-at, page-(w.Sp+at)%page)
		remote = append(remote, unix.RemoteIovec{Base: uintptr(w.Sp + at), Len: int(part)})
		at += part
	}
	pid := int(w.Tgid) // the record is of the caller
	got, err := limit.Within(&t.inFlight.memory, func() (int, error) {
		return privilege.ReadParts(pid, remote, data)
	}, nil)
	if err != nil {
		got = 0
	}
	return &unwind.Memory{Base: w.Sp, Data: data[:got]}
}

// leadsOut reports whether a stack has the return addresses of all probed functions,
// of which there is at least one.
func leadsOut(stack *unwind.Memory, addrs []uint64) bool {
	at := 0
	for _, r := range stack.Returns {
		if r.To == stack.Trampoline {
			continue
		}
		for at < len(addrs) && addrs[at] != r.To {
			at++
		}
		if at == len(addrs) {
			return false
		}
		at++
	}
	return len(stack.Returns) > 0
}
