package python

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/ingero-io/ingero/capture/bpf"
)

// Limits and offsets of a walk, as in the kernel's walker (capture/bpf/include/python.h).
const (
	maxThreads  = 1024     // thread states looked through
	maxFrames   = 128      // frames of a stack
	maxText     = 1 << 12  // bytes of a name
	maxTable    = 16 << 12 // bytes of a line table
	controlSize = 4096     // more than a struct pthread
	ownedByC    = 3        // _frameowner: this and above are frames without code
	strLength   = 16       // PyASCIIObject.length
	strState    = 32       // PyASCIIObject.state
	bytesSize   = 16       // PyVarObject.ob_size
	bytesData   = 32       // PyBytesObject.ob_sval
)

// Reader copies len(b) bytes from an address of a process, and reports whether it could.
type Reader func(addr uint64, b []byte) bool

// Walk returns the Python frames of a thread that has been in a call for long, innermost
// first, and an id of them, 0 without any. thread is its thread pointer. The thread
// cannot be stopped here: if its innermost frame changed during the walk, the frames
// are not reliable and nothing is returned.
func Walk(read Reader, p *bpf.WirePyProc, thread uint64) (frames []Frame, id uint64) {
	w := walker{read: read, p: p}
	state, top := w.find(thread)
	if top == 0 {
		return nil, 0
	}
	before, ok := w.block(top, p.FrameBytes)
	if !ok {
		return nil, 0
	}
	first := string(before)
	frames = w.frames(top)
	if after, ok := w.block(top, p.FrameBytes); !ok || w.top(state) != top || string(after) != first || len(frames) == 0 {
		return nil, 0
	}
	h := fnv.New64a()
	for i := range frames {
		f := &frames[i]
		h.Write([]byte(f.File + "\x00" + f.Symbol + "\x00"))
		h.Write(binary.LittleEndian.AppendUint32(nil, f.Line))
	}
	return frames, max(h.Sum64(), 1)
}

type walker struct {
	read  Reader
	p     *bpf.WirePyProc
	codes map[uint64]*Code
}

func (w *walker) block(addr uint64, n uint32) ([]byte, bool) {
	b := make([]byte, n)
	return b, w.read(addr, b)
}

func (w *walker) word(addr uint64) uint64 {
	var b [8]byte
	if !w.read(addr, b[:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// find searches the thread states of all interpreters for one of the thread that runs
// Python. It returns that state and its innermost frame.
func (w *walker) find(thread uint64) (state, frame uint64) {
	left := maxThreads
	for interp := w.word(w.p.InterpHead); interp != 0 && left > 0; interp = w.word(interp + uint64(w.p.InterpNext)) {
		left--
		for state = w.word(interp + uint64(w.p.InterpThreads)); state != 0 &&
			left > 0; state = w.word(state + uint64(w.p.TsNext)) {
			left--
			if id := w.word(state + uint64(w.p.TsThreadId)); id == 0 || thread-id >= controlSize {
				continue
			}
			if frame = w.top(state); frame != 0 {
				return state, frame
			}
		}
	}
	return 0, 0
}

// top is the innermost frame of a thread state, 0 if it runs no Python.
func (w *walker) top(state uint64) uint64 {
	frame := w.word(state + uint64(w.p.TsFrame))
	if frame == 0 || w.p.Flags&uint32(bpf.WirePyFlagPY_CFRAME) == 0 {
		return frame
	}
	return w.word(frame + uint64(w.p.CframeFrame))
}

func (w *walker) frames(at uint64) (frames []Frame) {
	flag := func(f bpf.WirePyFlag) bool { return w.p.Flags&uint32(f) != 0 }
	for range 2 * maxFrames {
		b, ok := w.block(at, w.p.FrameBytes)
		if at == 0 || !ok {
			return frames
		}
		at = binary.LittleEndian.Uint64(b[w.p.FramePrev:])
		if flag(bpf.WirePyFlagPY_SHIM) && b[w.p.FrameOwner] >= ownedByC {
			if n := len(frames); n > 0 {
				frames[n-1].Entry = true
			}
			continue
		}
		if len(frames) == maxFrames {
			return append(frames, Cut())
		}
		code := binary.LittleEndian.Uint64(b[w.p.FrameCode:]) &^ 7 // from 3.14 the low bits are tags
		c := w.code(code)
		if c == nil {
			return frames
		}
		f := Frame{}
		var instr int32
		switch {
		case flag(bpf.WirePyFlagPY_FRAME_OBJECT):
			instr, f.Entry = int32(binary.LittleEndian.Uint32(b[w.p.FrameInstr:])), true
			if flag(bpf.WirePyFlagPY_WORD_INDEX) {
				instr *= 2
			}
		default:
			instr = int32(binary.LittleEndian.Uint64(b[w.p.FrameInstr:]) - code - uint64(w.p.CodeInstrs))
			f.Entry = flag(bpf.WirePyFlagPY_IS_ENTRY) && b[w.p.FrameEntry] != 0
		}
		f.Frame = c.Frame(instr)
		frames = append(frames, f)
	}
	return frames
}

// code reads a code object; nil if it cannot be read.
func (w *walker) code(at uint64) *Code {
	if c, ok := w.codes[at]; ok {
		return c
	}
	if w.codes == nil {
		w.codes = map[uint64]*Code{}
	}
	b, ok := w.block(at+uint64(w.p.CodeAt), w.p.CodeBytes)
	if !ok {
		return nil
	}
	at64 := func(i uint32) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	c := &Code{first: int32(binary.LittleEndian.Uint32(b[w.p.CodeFirstline:])), format: bpf.WirePyTable(w.p.Table)}
	if c.name, ok = w.stringAt(at64(w.p.CodeName)); !ok {
		return nil
	}
	if c.file, ok = w.stringAt(at64(w.p.CodeFile)); !ok {
		return nil
	}
	table := at64(w.p.CodeTable)
	c.size = int(min(w.word(table+bytesSize), maxTable))
	if c.table, ok = w.block(table+bytesData, uint32(c.size)); !ok {
		return nil
	}
	w.codes[at] = c
	return c
}

// stringAt reads a str; only its end if it is too long.
func (w *walker) stringAt(str uint64) (string, bool) {
	length := w.word(str + strLength)
	state, ok := w.block(str+strState, 4)
	if !ok || length > 1<<20 {
		return "", false
	}
	s := bpf.WirePyStr{Length: uint32(length), State: binary.LittleEndian.Uint32(state)}
	bytes := uint64(s.Length) * uint64(s.State>>2&7) // PyASCIIObject.state.kind
	from := str + uint64(w.p.StrCompact)
	if s.State>>6&1 != 0 {
		from = str + uint64(w.p.StrAscii)
	}
	from += bytes - min(bytes, maxText)
	b, ok := w.block(from, uint32(min(bytes, maxText)))
	return pyText(b, s), ok
}
