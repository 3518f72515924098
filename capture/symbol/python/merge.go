package python

import (
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Frame is a Python frame of a stack.
type Frame struct {
	event.Frame
	// Entry says that C code called it: it is the outermost of one run of the
	// interpreter's loop.
	Entry bool
}

// Cut stands for the frames of a stack that is too deep to be recorded whole.
func Cut() Frame {
	return Frame{Frame: event.Frame{Kind: event.FramePython, Symbol: "(callers not recorded: the stack is too deep)"}}
}

// Merge puts Python frames into a native stack, innermost first. Each native
// frame of the interpreter's loop is replaced by the Python frames that it ran.
// If the native stack has too few such frames, because it could not be walked
// that far, the remaining Python frames follow its last frame.
func Merge(native []event.Frame, py []Frame) []event.Frame {
	if len(py) == 0 {
		return native
	}
	r := make([]event.Frame, 0, len(native)+len(py))
	for _, f := range native {
		if len(py) == 0 || !isLoop(f.Symbol) {
			r = append(r, f)
			continue
		}
		n := firstRun(py)
		for _, p := range py[:n] {
			r = append(r, p.Frame)
		}
		py = py[n:]
	}
	for _, p := range py {
		r = append(r, p.Frame)
	}
	return r
}

// firstRun returns the number of frames of the first run of the loop.
func firstRun(py []Frame) int {
	for i := range py {
		if py[i].Entry {
			return i + 1
		}
	}
	return len(py)
}

// isLoop reports whether a native function is the interpreter's loop. The second
// form is that of 3.14 built with tail calls.
func isLoop(symbol string) bool {
	return strings.HasPrefix(symbol, "_PyEval_EvalFrameDefault") || strings.HasPrefix(symbol, "_TAIL_CALL_")
}
