package python

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/limit"
)

// fields are the offsets of what the walker reads, in bytes. Up to 3.12 they are
// those of the headers below Include/internal, which do not change between the
// releases of a minor version; from 3.13 on the interpreter itself contains them.
type fields struct {
	interpHead                       uint64 // in _PyRuntime
	interpNext, interpThreads        uint64
	tsNext, tsThreadID, tsFrame      uint64
	cframe                           uint64 // current_frame in _PyCFrame
	fCode, fInstr, fPrev, fOwner     uint64 // of a frame
	fEntry                           uint64
	firstLine, file, name, lineTable uint64 // of a code object
	instrs                           uint64
	ascii, compact                   uint64 // sizes of PyASCIIObject, PyCompactUnicodeObject
	flags                            bpf.WirePyFlag
	table                            bpf.WirePyTable
}

const (
	lnotab    = bpf.WirePyTablePY_TABLE_LNOTAB
	lines     = bpf.WirePyTablePY_TABLE_LINES
	locations = bpf.WirePyTablePY_TABLE_LOCATIONS
)

var old = map[int]fields{
	8: {
		interpHead: 32, interpThreads: 8, tsNext: 8, tsThreadID: 176, tsFrame: 24,
		fPrev: 24, fCode: 32, fInstr: 104, firstLine: 40, file: 104, name: 112, lineTable: 120,
		ascii: 48, compact: 72, flags: bpf.WirePyFlagPY_FRAME_OBJECT, table: lnotab,
	},
	9: {
		interpHead: 32, interpThreads: 8, tsNext: 8, tsThreadID: 176, tsFrame: 24,
		fPrev: 24, fCode: 32, fInstr: 104, firstLine: 40, file: 104, name: 112, lineTable: 120,
		ascii: 48, compact: 72, flags: bpf.WirePyFlagPY_FRAME_OBJECT, table: lnotab,
	},
	10: {
		interpHead: 32, interpThreads: 8, tsNext: 8, tsThreadID: 176, tsFrame: 24,
		fPrev: 24, fCode: 32, fInstr: 96, firstLine: 40, file: 104, name: 112, lineTable: 120,
		ascii: 48, compact: 72, flags: bpf.WirePyFlagPY_FRAME_OBJECT | bpf.WirePyFlagPY_WORD_INDEX, table: lines,
	},
	11: {
		interpHead: 40, interpThreads: 16, tsNext: 8, tsThreadID: 152, tsFrame: 56, cframe: 8,
		fCode: 32, fPrev: 48, fInstr: 56, fEntry: 68, fOwner: 69,
		firstLine: 72, file: 112, name: 128, lineTable: 136, instrs: 184,
		ascii: 48, compact: 72, flags: bpf.WirePyFlagPY_CFRAME | bpf.WirePyFlagPY_IS_ENTRY, table: locations,
	},
	12: {
		interpHead: 40, interpThreads: 72, tsNext: 8, tsThreadID: 136, tsFrame: 56,
		fCode: 0, fPrev: 8, fInstr: 56, fOwner: 70,
		firstLine: 68, file: 112, name: 128, lineTable: 136, instrs: 192,
		ascii: 40, compact: 56, flags: bpf.WirePyFlagPY_CFRAME | bpf.WirePyFlagPY_SHIM, table: locations,
	},
}

// cookie is what _PyRuntime begins with from 3.13 on (_Py_Debug_Cookie).
const cookie = "xdebugpy"

// offsetsSize is how many bytes of _PyRuntime are read: enough for the needed
// part of every version's _Py_DebugOffsets.
const offsetsSize = 1 << 10

// debugOffsets lists, in order, the words of _Py_DebugOffsets (pycore_runtime.h,
// from 3.14 pycore_debug_offsets.h) after cookie, version and free_threaded.
var debugOffsets = map[int][]string{
	13: {
		"runtime.size", "runtime.finalizing", "runtime.interpreters_head",
		"interp.size", "interp.id", "interp.next", "interp.threads_head", "interp.gc", "interp.imports_modules",
		"interp.sysdict",
		"interp.builtins", "interp.ceval_gil", "interp.gil", "interp.gil_enabled", "interp.gil_locked", "interp.gil_holder",
		"thread.size", "thread.prev", "thread.next", "thread.interp", "thread.current_frame", "thread.thread_id",
		"thread.native_thread_id",
		"thread.datastack_chunk", "thread.status",
		"frame.size", "frame.previous", "frame.executable", "frame.instr_ptr", "frame.localsplus", "frame.owner",
		"code.size", "code.filename", "code.name", "code.qualname", "code.linetable", "code.firstlineno", "code.argcount",
		"code.localsplusnames", "code.localspluskinds", "code.co_code_adaptive",
		"object.size", "object.ob_type", "type.size", "type.tp_name", "type.tp_repr", "type.tp_flags",
		"tuple.size", "tuple.ob_item", "tuple.ob_size", "list.size", "list.ob_item", "list.ob_size",
		"dict.size", "dict.ma_keys", "dict.ma_values", "float.size", "float.ob_fval", "long.size", "long.lv_tag",
		"long.ob_digit",
		"bytes.size", "bytes.ob_size", "bytes.ob_sval", "unicode.size", "unicode.state", "unicode.length",
		"unicode.asciiobject_size",
	},
	14: {
		"runtime.size", "runtime.finalizing", "runtime.interpreters_head",
		"interp.size", "interp.id", "interp.next", "interp.threads_head", "interp.threads_main", "interp.gc",
		"interp.imports_modules",
		"interp.sysdict", "interp.builtins", "interp.ceval_gil", "interp.gil", "interp.gil_enabled", "interp.gil_locked",
		"interp.gil_holder", "interp.code_object_generation", "interp.tlbc_generation",
		"thread.size", "thread.prev", "thread.next", "thread.interp", "thread.current_frame", "thread.thread_id",
		"thread.native_thread_id",
		"thread.datastack_chunk", "thread.status",
		"frame.size", "frame.previous", "frame.executable", "frame.instr_ptr", "frame.localsplus", "frame.owner",
		"frame.stackpointer",
		"frame.tlbc_index",
		"code.size", "code.filename", "code.name", "code.qualname", "code.linetable", "code.firstlineno", "code.argcount",
		"code.localsplusnames", "code.localspluskinds", "code.co_code_adaptive", "code.co_tlbc",
		"object.size", "object.ob_type", "type.size", "type.tp_name", "type.tp_repr", "type.tp_flags",
		"tuple.size", "tuple.ob_item", "tuple.ob_size", "list.size", "list.ob_item", "list.ob_size",
		"set.size", "set.used", "set.table", "set.mask",
		"dict.size", "dict.ma_keys", "dict.ma_values", "float.size", "float.ob_fval", "long.size", "long.lv_tag",
		"long.ob_digit",
		"bytes.size", "bytes.ob_size", "bytes.ob_sval", "unicode.size", "unicode.state", "unicode.length",
		"unicode.asciiobject_size",
	},
}

// The offsets in PyBytesObject and PyASCIIObject since 3.8; the walker relies on them.
var fixed = map[string]uint64{
	"bytes.ob_size": 16, "bytes.ob_sval": 32, "unicode.length": 16, "unicode.state": 32,
}

// parseOffsets reads the _Py_DebugOffsets at the start of _PyRuntime. The error
// says why it cannot be used.
func parseOffsets(b []byte) (Version, fields, error) {
	if len(b) < 24 || !bytes.HasPrefix(b, []byte(cookie)) {
		return 0, fields{}, fmt.Errorf("its _PyRuntime has no debug offsets, as it should from 3.13 on")
	}
	v := Version(binary.LittleEndian.Uint64(b[8:]))
	names, ok := debugOffsets[v.Minor()]
	switch {
	case !ok:
		return v, fields{}, unknownVersion(v)
	case binary.LittleEndian.Uint64(b[16:]) != 0:
		return v, fields{}, fmt.Errorf("Python %s is a free-threaded build", v)
	case len(b) < 24+8*len(names):
		return v, fields{}, fmt.Errorf("its _PyRuntime is too short")
	}
	at := map[string]uint64{}
	for i, n := range names {
		at[n] = binary.LittleEndian.Uint64(b[24+8*i:])
	}
	for n, want := range fixed {
		if at[n] != want {
			return v, fields{}, fmt.Errorf("Python %s has %s at %d instead of %d", v, n, at[n], want)
		}
	}
	return v, fields{
		interpHead: at["runtime.interpreters_head"], interpNext: at["interp.next"], interpThreads: at["interp.threads_head"],
		tsNext: at["thread.next"], tsThreadID: at["thread.thread_id"], tsFrame: at["thread.current_frame"],
		fCode: at["frame.executable"], fInstr: at["frame.instr_ptr"], fPrev: at["frame.previous"], fOwner: at["frame.owner"],
		firstLine: at["code.firstlineno"], file: at["code.filename"], name: at["code.qualname"],
		lineTable: at["code.linetable"],
		instrs:    at["code.co_code_adaptive"],
		ascii:     at["unicode.asciiobject_size"], compact: at["unicode.asciiobject_size"] + 16, // utf8_length, utf8
		flags: bpf.WirePyFlagPY_SHIM, table: locations,
	}, nil
}

func unknownVersion(v Version) error {
	return fmt.Errorf("the layout of Python %s is not known; known are 3.%d to 3.%d", v, Oldest, Newest)
}

// blockSize is PY_BLOCK of capture/bpf/include/python.h.
const blockSize = 128

// layout converts the fields for an interpreter whose _PyRuntime is at the given
// address.
func (f *fields) layout(runtime uint64) (bpf.WirePyProc, error) {
	for _, at := range []uint64{
		f.interpHead, f.interpNext, f.interpThreads, f.tsNext, f.tsThreadID, f.tsFrame, f.cframe, f.fCode, f.fInstr, f.fPrev,
		f.fOwner, f.fEntry, f.firstLine, f.file, f.name, f.lineTable, f.instrs, f.ascii, f.compact,
	} {
		if at > limit.PythonOffset {
			return bpf.WirePyProc{}, limit.Check("offsets in its structures", at, limit.PythonOffset, "bytes")
		}
	}
	low := f.firstLine &^ 7
	high := max(f.file, f.name, f.lineTable, low) + 8
	frame := max(f.fCode, f.fInstr, f.fPrev, f.fOwner&^7, f.fEntry&^7) + 8
	if f.firstLine&3 != 0 || low > min(f.file, f.name, f.lineTable) || high-low > blockSize || frame > blockSize {
		return bpf.WirePyProc{}, fmt.Errorf("its frames or code objects are laid out in another way")
	}
	return bpf.WirePyProc{
		InterpHead: runtime + f.interpHead, Flags: uint32(f.flags), Table: uint32(f.table),
		InterpNext: uint32(f.interpNext), InterpThreads: uint32(f.interpThreads),
		TsNext: uint32(f.tsNext), TsThreadId: uint32(f.tsThreadID), TsFrame: uint32(f.tsFrame), CframeFrame: uint32(f.cframe),
		FrameBytes: uint32(frame), FrameCode: uint32(f.fCode), FrameInstr: uint32(f.fInstr), FramePrev: uint32(f.fPrev),
		FrameOwner: uint32(f.fOwner), FrameEntry: uint32(f.fEntry),
		CodeAt: uint32(low), CodeBytes: uint32(high - low), CodeFirstline: uint32(f.firstLine - low),
		CodeFile: uint32(f.file - low),
		CodeName: uint32(f.name - low), CodeTable: uint32(f.lineTable - low), CodeInstrs: uint32(f.instrs),
		StrAscii: uint32(f.ascii), StrCompact: uint32(f.compact),
	}, nil
}
