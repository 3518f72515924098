package probe

import (
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/event"
)

// Limits of what is kept of the data that the kernel sends only once. Beyond them,
// everything is dropped and requested again.
const (
	maxPythonCodes  = 1 << 14
	maxPythonStacks = 1 << 13
)

// pythonDecoder puts Python stacks together from what the kernel sends: each code
// object once, each stack once with its frames and then as a hash only.
type pythonDecoder struct {
	codes   map[uint64]*python.Code
	stacks  map[uint64][]python.Frame
	bytes   int                    // of codes
	frames  int                    // of stacks
	pending map[uint32]pythonStack // by tid: the stack that belongs to its next call
	again   map[uint32]bool        // processes of which something is missing
	missed  uint64                 // stacks whose frames are not known
	code    bpf.WirePycodeRec      // the record being read: too large for the stack
	stack   bpf.WirePystackRec
}

// pythonStack is a stack and the start, by the kernel's clock, of its call.
type pythonStack struct {
	start, hash uint64
	frames      []python.Frame
}

func newPythonDecoder() pythonDecoder {
	return pythonDecoder{
		codes: map[uint64]*python.Code{}, stacks: map[uint64][]python.Frame{},
		pending: map[uint32]pythonStack{}, again: map[uint32]bool{},
	}
}

// prefix copies a record that may end within the last member of T, which has the given
// offset, and returns the present part of that member.
func prefix[T any](w *T, b []byte, last uintptr) (rest []byte, ok bool) {
	if len(b) < int(last) || len(b) > int(unsafe.Sizeof(*w)) {
		return nil, false
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(w)), unsafe.Sizeof(*w))
	n := copy(to, b)
	return to[last:n], true
}

// codeRecord keeps a code object, or a further piece of its line table.
func (d *pythonDecoder) codeRecord(b []byte) bool {
	piece, ok := prefix(&d.code, b, unsafe.Offsetof(d.code.Table))
	if !ok || d.code.TableAt > d.code.TableBytes {
		return false
	}
	piece = piece[:min(uint32(len(piece)), d.code.TableBytes-d.code.TableAt)]
	if d.code.TableAt == 0 {
		c := python.NewCode(&d.code, piece)
		if len(d.codes) >= maxPythonCodes || d.bytes+c.Size() > limit.PythonBytes {
			d.forget()
		}
		d.codes[d.code.Code] = c
		d.bytes += c.Size()
		return true
	}
	d.bytes += len(piece)
	if c := d.codes[d.code.Code]; c == nil || !c.Append(d.code.TableAt, piece) {
		delete(d.codes, d.code.Code)
		d.again[d.code.Tgid] = true
	}
	return true
}

// forget drops everything; the kernel has to send it again.
func (d *pythonDecoder) forget() {
	clear(d.codes)
	clear(d.stacks)
	d.bytes, d.frames = 0, 0
	d.again[0] = true
}

// stackRecord keeps a stack for the call that follows.
func (d *pythonDecoder) stackRecord(b []byte) bool {
	frames, ok := prefix(&d.stack, b, unsafe.Offsetof(d.stack.F))
	w := &d.stack
	n := int(w.N)
	if !ok || n > len(frames)/int(unsafe.Sizeof(w.F[0])) {
		return false
	}
	s, known := d.stacks[w.Hash]
	switch {
	case n > 0:
		if len(d.stacks) >= maxPythonStacks || d.frames+n > limit.PythonFrames {
			clear(d.stacks)
			d.frames = 0
			d.again[0] = true
		}
		s = d.resolve(w)
		d.frames += len(s)
		d.stacks[w.Hash] = s
	case !known:
		d.missed++
		d.again[w.Tgid] = true
		return true
	}
	if len(d.pending) >= maxPending { // their calls were dropped
		clear(d.pending)
	}
	d.pending[w.H.Tid] = pythonStack{w.H.Start, w.Hash, s}
	return true
}

// resolve names the frames. If a code object is missing, its frame has no name, and the
// object is requested.
func (d *pythonDecoder) resolve(w *bpf.WirePystackRec) []python.Frame {
	frames := make([]python.Frame, 0, w.N+1)
	for i := range w.F[:w.N] {
		f := &w.F[i]
		p := python.Frame{
			Frame: event.Frame{Kind: event.FramePython},
			Entry: f.Flags&uint32(bpf.WirePyframeFlagPYFRAME_ENTRY) != 0,
		}
		if c := d.codes[f.Code]; c != nil {
			p.Frame = c.Frame(f.Instr)
		} else {
			d.again[w.Tgid] = true
		}
		frames = append(frames, p)
	}
	if w.Flags != 0 {
		frames = append(frames, python.Cut())
	}
	return frames
}

// takeStack returns the Python stack of the call of a thread that began at start.
func (d *pythonDecoder) takeStack(tid uint32, start uint64) (s pythonStack, ok bool) {
	if len(d.pending) == 0 {
		return s, false
	}
	s, ok = d.pending[tid]
	if ok {
		delete(d.pending, tid)
	}
	return s, ok && s.start == start
}

// mixed is the id of a native stack, or 0, together with a Python one.
func mixed(native, python uint64) uint64 {
	return max(native^python*0x9e3779b97f4a7c15, 1)
}
