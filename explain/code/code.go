// Package code finds in samples of a thread's stacks which code the time went to, and where in it a thread waited. It
// is pure: package diagnose passes it the samples of a recording.
package code

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

const (
	fewest    = 10  // samples that tell anything
	fewWaits  = 3   // waits that tell anything: each is seen from its begin to its end
	most      = 0.5 // the share of the samples that a function has to be in
	mostCalls = 0.5 // the share of those in the function that one system call has to be in
)

// Sample is a stack.
type Sample struct {
	Frames  []event.Frame // functions, innermost first, those of the kernel before the program's
	Syscall int16         // -1: it was in none
	NS      uint64        // how long a wait was; unused where code ran
}

// Place is where most of the time went: the innermost function that most samples are in.
type Place struct {
	Samples  int         // in all
	Share    float64     // of them, in the function or in what it calls; of waits, of their time
	Function event.Frame // with the file and line of most samples
	// Caller is the innermost Python function that most of them are in; without one, and if Function is of the C library
	// or the kernel, the innermost other one. None: zero, or Function is one.
	Caller   event.Frame
	Call     event.Op    // the outermost of the calls that are traced that most of them are in; 0: none
	Syscall  int16       // that most of them are in; -1: none
	Kernel   float64     // share of all samples in the kernel
	InKernel event.Frame // the innermost function of the kernel that most of these are in; none: zero
}

// function is what samples are counted by: two frames of it may be on different lines.
type function struct {
	kind         event.StackKind
	symbol, file string
}

func functionOf(f *event.Frame) function {
	switch {
	case f.Symbol == "":
		return function{f.Kind, "", f.Module}
	case f.Kind == event.FramePython:
		return function{f.Kind, f.Symbol, f.File}
	}
	return function{f.Kind, f.Symbol, f.Module}
}

// seen is a function of some samples. What is counted are samples, or the nanoseconds of waits.
type seen struct {
	times  uint64
	depth  uint64 // sum of the distances from the innermost frame
	frames map[event.Frame]uint64
}

func (s *seen) mean() float64 { return float64(s.depth) / float64(s.times) }

// often is the frame that most samples have.
func (s *seen) often() event.Frame {
	frames := slices.SortedFunc(maps.Keys(s.frames), func(a, b event.Frame) int {
		return cmp.Or(cmp.Compare(s.frames[b], s.frames[a]), cmp.Compare(a.String(), b.String()))
	})
	return frames[0]
}

// tally has the functions of samples. A sample counts once for each function that it is in, where it is in it
// innermost.
type tally struct {
	samples       int
	times, kernel uint64             // kernel: of them, in the kernel
	by, inKernel  map[function]*seen // inKernel: of those that are in the kernel, its functions
	syscalls      map[int16]uint64
}

func newTally() tally {
	return tally{by: map[function]*seen{}, inKernel: map[function]*seen{}, syscalls: map[int16]uint64{}}
}

// addSample counts a sample with a weight, but for frames that say nothing.
func (t *tally) addSample(s *Sample, weight uint64, says func(*event.Frame) bool) {
	t.samples++
	t.times += weight
	t.syscalls[s.Syscall] += weight
	if s.Frames[0].Kind == event.FrameKernel {
		t.kernel += weight
	}
	in := map[function]bool{}
	for i := range s.Frames {
		k := functionOf(&s.Frames[i])
		if in[k] || !says(&s.Frames[i]) {
			continue
		}
		in[k] = true
		countFunction(t.by, k, &s.Frames[i], i, weight)
		if k.kind == event.FrameKernel && !entersKernel(k.symbol) {
			countFunction(t.inKernel, k, &s.Frames[i], i, weight)
		}
	}
}

// countFunction adds a sample to a function, at a distance from the innermost frame.
func countFunction(by map[function]*seen, k function, frame *event.Frame, depth int, weight uint64) {
	f := by[k]
	if f == nil {
		f = &seen{frames: map[event.Frame]uint64{}}
		by[k] = f
	}
	f.times += weight
	f.depth += uint64(depth) * weight
	f.frames[*frame] += weight
}

// interpreter are how names of CPython's functions begin that only run other functions: the Python frames beside them
// say more.
var interpreter = []string{
	"_PyEval_", "PyEval_", "_PyFunction_", "_PyObject_Call", "PyObject_Call", "_PyObject_MakeTpCall", "_PyObject_FastCall",
	"_PyVectorcall_", "PyVectorcall_", "object_vacall", "method_vectorcall", "cfunction_", "slot_tp_", "vectorcall_",
	"_PyObject_Vectorcall", "PyObject_Vectorcall", "builtin_exec", "run_eval_code_obj", "partial_", "wrapper_",
}

func interprets(f *event.Frame) bool {
	return f.Kind == event.FrameNative && strings.Contains(f.Module, "python") &&
		slices.ContainsFunc(interpreter, func(p string) bool { return strings.HasPrefix(f.Symbol, p) })
}

// sleepers are how names of libraries begin through which everybody goes to sleep: who calls them says where. The
// interpreter is one of them for Python.
var sleepers = []string{"libc.", "libc-", "libpthread", "ld-", "libpython", "python", "vdso", "[vdso]"}

// waits reports whether a frame says where a thread waits.
func waits(f *event.Frame) bool {
	module := f.Module[strings.LastIndexByte(f.Module, '/')+1:]
	return f.Kind == event.FramePython || f.Kind == event.FrameNative && f.Symbol != "" &&
		!slices.ContainsFunc(sleepers, func(p string) bool { return strings.HasPrefix(module, p) })
}

// inStandardLibrary reports whether a Python function is of the standard library: who calls it says more.
func inStandardLibrary(file string) bool {
	return strings.HasPrefix(file, "<frozen ") || strings.Contains(file, "/lib/python3") &&
		!strings.Contains(file, "-packages/")
}

// entersKernel reports whether a function of the kernel is on the way of each system call or fault.
func entersKernel(symbol string) bool {
	return strings.HasPrefix(symbol, "asm_") || strings.HasPrefix(symbol, "entry_SYSCALL") || symbol == "do_syscall_64" ||
		symbol == "x64_sys_call" || strings.HasPrefix(symbol, "el0") || symbol == "invoke_syscall" || symbol == "do_el0_svc"
}

// Find returns where the time of the samples went. It is false if there are too few, or if they have nothing in common
// but how the program begins.
func Find(samples []Sample) (Place, bool) {
	t := newTally()
	for i := range samples {
		if len(samples[i].Frames) > 0 {
			t.addSample(&samples[i], 1, func(f *event.Frame) bool { return !interprets(f) })
		}
	}
	if t.samples < fewest {
		return Place{}, false
	}
	p := Place{Samples: t.samples, Syscall: -1, Kernel: share(t.kernel, t.times)}
	if f := innermost(t.inKernel, t.kernel, anyFunction); f != nil {
		p.InKernel = f.often()
	}
	f := innermost(t.by, t.times, anyFunction)
	if f == nil {
		return p, false
	}
	p.Function, p.Share = f.often(), share(f.times, t.times)
	if p.Function.Kind != event.FramePython {
		c := innermost(t.by, t.times, func(k function) bool { return k.kind == event.FramePython })
		if c == nil && !waits(&p.Function) { // the C library's, or the kernel's: who calls it says more
			c = innermost(t.by, t.times, func(k function) bool {
				_, traced := event.ByName(k.symbol) // Call has it
				return !traced && waits(&event.Frame{Kind: k.kind, Symbol: k.symbol, Module: k.file})
			})
		}
		if c != nil {
			p.Caller = c.often()
		}
	}
	p.Call = t.call()
	p.Syscall = t.syscall()
	return p, true
}

// FindWaits returns where in the code a thread waited, by the time of its waits: the innermost function that is neither
// the C library's nor the interpreter's. Caller is the innermost Python function outside of the standard library. It is
// false if there are too few waits, or if they are at different places.
func FindWaits(samples []Sample) (Place, bool) {
	t := newTally()
	for i := range samples {
		if len(samples[i].Frames) > 0 && samples[i].NS > 0 {
			t.addSample(&samples[i], samples[i].NS, waits)
		}
	}
	if t.samples < fewWaits {
		return Place{}, false
	}
	p := Place{Samples: t.samples, Syscall: t.syscall()}
	f := innermost(t.by, t.times, anyFunction)
	if f == nil {
		return p, false
	}
	p.Function, p.Share = f.often(), share(f.times, t.times)
	if p.Function.Kind == event.FramePython && !inStandardLibrary(p.Function.File) {
		return p, true
	}
	if c := innermost(t.by, t.times, func(k function) bool {
		return k.kind == event.FramePython && !inStandardLibrary(k.file)
	}); c != nil {
		p.Caller = c.often()
	}
	return p, true
}

// call is the outermost of the functions of CUDA and NCCL that most of the time went to, which is the one that the
// program called; 0: none.
func (t *tally) call() (op event.Op) {
	var outermost float64
	for k, f := range t.by {
		info, ok := event.ByName(k.symbol)
		if !ok || k.kind != event.FrameNative || share(f.times, t.times) < most {
			continue
		}
		if op == 0 || f.mean() > outermost || f.mean() == outermost && info.Op < op {
			op, outermost = info.Op, f.mean()
		}
	}
	return op
}

// syscall is the system call that most of the time went to; -1: none.
func (t *tally) syscall() int16 {
	for nr, times := range t.syscalls {
		if nr >= 0 && share(times, t.times) >= mostCalls {
			return nr
		}
	}
	return -1
}

func anyFunction(function) bool { return true }

func share(part, all uint64) float64 { return float64(part) / float64(all) }

// innermost is of the functions that most of all samples are in, the innermost one.
func innermost(by map[function]*seen, all uint64, of func(function) bool) (best *seen) {
	var name function
	for k, f := range by {
		if share(f.times, all) < most || !of(k) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(f.mean(), best.mean()), cmp.Compare(k.symbol, name.symbol)) < 0 {
			best, name = f, k
		}
	}
	return best
}
