package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// interpreterLock is CPython's global interpreter lock. Nobody's id is in its word; who waits for it is in take_gil
// (Python/ceval_gil.c).
const interpreterLock = "Python's interpreter lock (GIL)"

// waitsForGIL reports whether a thread waits for it, by its stack.
func (ev *evidence) waitsForGIL(f *event.InFlight) bool {
	st, ok := ev.in.Stacks[f.Stack]
	return ok && f.Doing == event.Blocked && f.Class == event.Futex &&
		slices.ContainsFunc(st.Frames, func(x event.Frame) bool { return x.Symbol == "take_gil" })
}

// runsPython reports whether a thread is in the middle of Python's code. It need not hold the interpreter's lock: who
// calls C may let it go meanwhile. So it is said that it seems to, and only of a call that hangs.
func (ev *evidence) runsPython(f *event.InFlight) bool {
	st, ok := ev.in.Stacks[f.Stack]
	return ok && slices.ContainsFunc(st.Frames, func(x event.Frame) bool { return x.Kind == event.FramePython }) &&
		!slices.ContainsFunc(st.Frames, func(x event.Frame) bool { return x.Symbol == "take_gil" })
}
