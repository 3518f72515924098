// Package code finds in samples of a thread's stacks which code the time went to. It is pure: package diagnose passes
// it the samples of a recording.
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
	most      = 0.5 // the share of the samples that a function has to be in
	mostCalls = 0.5 // the share of those in the function that one system call has to be in
)

// Sample is a stack.
type Sample struct {
	Frames  []event.Frame // functions, innermost first, those of the kernel before the program's
	Syscall int16         // -1: it was in none
}

// Place is where most of the time went: the innermost function that most samples are in.
type Place struct {
	Samples  int         // in all
	Share    float64     // of them, in the function or in what it calls
	Function event.Frame // with the file and line of most samples
	Caller   event.Frame // the innermost Python function that most of them are in; none: zero, or Function is one
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

// seen is a function of some samples.
type seen struct {
	times  int
	depth  int // sum of the distances from the innermost frame
	frames map[event.Frame]int
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
	times, kernel int                // kernel: of them, in the kernel
	by, inKernel  map[function]*seen // inKernel: of those that are in the kernel, its functions
	syscalls      map[int16]int
}

func (t *tally) addSample(s *Sample) {
	t.times++
	t.syscalls[s.Syscall]++
	if s.Frames[0].Kind == event.FrameKernel {
		t.kernel++
	}
	in := map[function]bool{}
	for i := range s.Frames {
		k := functionOf(&s.Frames[i])
		if in[k] || interprets(&s.Frames[i]) {
			continue
		}
		in[k] = true
		countFunction(t.by, k, &s.Frames[i], i)
		if k.kind == event.FrameKernel && !entersKernel(k.symbol) {
			countFunction(t.inKernel, k, &s.Frames[i], i)
		}
	}
}

// countFunction adds a sample to a function, at a distance from the innermost frame.
func countFunction(by map[function]*seen, k function, frame *event.Frame, depth int) {
	f := by[k]
	if f == nil {
		f = &seen{frames: map[event.Frame]int{}}
		by[k] = f
	}
	f.times++
	f.depth += depth
	f.frames[*frame]++
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

// entersKernel reports whether a function of the kernel is on the way of each system call or fault.
func entersKernel(symbol string) bool {
	return strings.HasPrefix(symbol, "asm_") || strings.HasPrefix(symbol, "entry_SYSCALL") || symbol == "do_syscall_64" ||
		symbol == "x64_sys_call" || strings.HasPrefix(symbol, "el0") || symbol == "invoke_syscall" || symbol == "do_el0_svc"
}

// Find returns where the time of the samples went. It is false if there are too few, or if they have nothing in common
// but how the program begins.
func Find(samples []Sample) (Place, bool) {
	t := tally{by: map[function]*seen{}, inKernel: map[function]*seen{}, syscalls: map[int16]int{}}
	for i := range samples {
		if len(samples[i].Frames) > 0 {
			t.addSample(&samples[i])
		}
	}
	if t.times < fewest {
		return Place{}, false
	}
	p := Place{Samples: t.times, Syscall: -1, Kernel: share(t.kernel, t.times)}
	if f := innermost(t.inKernel, t.kernel, anyFunction); f != nil {
		p.InKernel = f.often()
	}
	f := innermost(t.by, t.times, anyFunction)
	if f == nil {
		return p, false
	}
	p.Function, p.Share = f.often(), share(f.times, t.times)
	if p.Function.Kind != event.FramePython {
		if c := innermost(t.by, t.times, func(k function) bool { return k.kind == event.FramePython }); c != nil {
			p.Caller = c.often()
		}
	}
	for nr, times := range t.syscalls {
		if nr >= 0 && share(times, t.times) >= mostCalls {
			p.Syscall = nr
		}
	}
	return p, true
}

func anyFunction(function) bool { return true }

func share(part, all int) float64 { return float64(part) / float64(all) }

// innermost is of the functions that most of all samples are in, the innermost one.
func innermost(by map[function]*seen, all int, of func(function) bool) (best *seen) {
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
