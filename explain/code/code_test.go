package code_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/code"
)

func native(name string) event.Frame {
	return event.Frame{Kind: event.FrameNative, Symbol: name, Module: "prog"}
}

func python(name string, line uint32) event.Frame {
	return event.Frame{Kind: event.FramePython, Symbol: name, File: "train.py", Line: line}
}

func kernel(name string) event.Frame {
	return event.Frame{Kind: event.FrameKernel, Symbol: name, Module: "kernel"}
}

// times repeats a stack, innermost first.
func times(n int, syscall int16, frames ...event.Frame) (list []code.Sample) {
	for range n {
		list = append(list, code.Sample{Frames: frames, Syscall: syscall})
	}
	return list
}

func join(lists ...[]code.Sample) (all []code.Sample) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func TestWhatRanInTheKernelIsFound(t *testing.T) {
	p, ok := code.Find(join(
		times(6, 1, kernel("isolate_freepages"), kernel("compact_zone"), kernel("do_syscall_64"), native("step")),
		times(6, 1, kernel("compact_zone"), kernel("do_syscall_64"), native("step")),
		times(8, -1, kernel("clear_page"), kernel("asm_exc_page_fault"), native("step")),
		times(20, -1, native("step"))))
	if !ok || p.Function != native("step") || p.InKernel != kernel("compact_zone") || p.Kernel != 0.5 {
		t.Errorf("%+v", p)
	}
}

func TestTheInnermostFunctionThatMostSamplesAreInIsFound(t *testing.T) {
	root := []event.Frame{python("step", 31), native("run"), native("main")}
	under := func(f ...event.Frame) []event.Frame { return append(f, root...) }
	for _, c := range []struct {
		name     string
		samples  []code.Sample
		function event.Frame // none: nothing is found
		caller   event.Frame
		share    float64
		syscall  int16
	}{
		{
			"what it calls is of several kinds",
			join(times(30, -1, under(native("visit"), native("gc_collect_main"))...),
				times(30, -1, under(native("traverse"), native("gc_collect_main"))...),
				times(40, -1, under(native("gc_collect_main"))...), times(5, -1, native("other"), native("main"))),
			native("gc_collect_main"), python("step", 31), 100. / 105, -1,
		},
		{
			"Python's own code, mostly on one line",
			join(times(8, -1, python("tokenize", 7), root[0], root[1]), times(20, -1, python("tokenize", 9), root[0], root[1])),
			python("tokenize", 9),
			event.Frame{},
			1, -1,
		},
		{
			"recursion counts once",
			times(20, -1, native("walk"), native("walk"), native("walk"), native("main")),
			native("walk"),
			event.Frame{},
			1, -1,
		},
		{
			"in the kernel",
			join(times(15, 1, kernel("compact_zone"), kernel("ksys_write"), native("write"), native("main")),
				times(3, -1, native("spin"), native("main"))),
			kernel("compact_zone"),
			native("write"),
			15. / 18, 1,
		},
		{
			"the interpreter is not what matters",
			times(20, -1, event.Frame{Kind: event.FrameNative, Symbol: "_PyEval_Vector", Module: "libpython3.11.so.1.0"},
				python("compile", 5), native("main")),
			python("compile", 5),
			event.Frame{},
			1, -1,
		},
		{"too few", times(9, -1, native("gc")), event.Frame{}, event.Frame{}, 0, -1},
		{"stacks that could not be read", times(50, -1), event.Frame{}, event.Frame{}, 0, -1},
		{"nothing in common", join(times(20, -1, native("a")), times(20, -1, native("b")), times(20, -1, native("c"))), event.Frame{}, event.Frame{}, 0, -1},
	} {
		p, ok := code.Find(c.samples)
		if !ok {
			if c.function != (event.Frame{}) {
				t.Errorf("%s: nothing is found", c.name)
			}
			continue
		}
		if p.Function != c.function || p.Caller != c.caller || p.Syscall != c.syscall || p.Share < c.share-.001 ||
			p.Share > c.share+.001 {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// waits repeats a wait.
func waits(n int, ns uint64, frames ...event.Frame) (list []code.Sample) {
	for range n {
		list = append(list, code.Sample{Frames: frames, Syscall: 7, NS: ns})
	}
	return list
}

func TestWhereAThreadWaitedIsFoundByTheTime(t *testing.T) {
	libc := event.Frame{Kind: event.FrameNative, Symbol: "poll", Module: "libc.so.6"}
	inner := event.Frame{Kind: event.FrameNative, Symbol: "lock_acquire", Module: "python3.12"}
	get := event.Frame{Kind: event.FramePython, Symbol: "get", File: "/usr/lib/python3.12/queue.py", Line: 171}
	packaged := event.Frame{Kind: event.FramePython, Symbol: "fetch", File: "/usr/lib/python3/dist-packages/data.py", Line: 9}
	for _, c := range []struct {
		name             string
		samples          []code.Sample
		function, caller event.Frame // none: nothing is found
		share            float64
	}{
		{
			"few long waits weigh more than many short ones",
			join(waits(5, 30e6, libc, inner, python("load", 12)), waits(50, 1e6, libc, inner, python("log", 3))),
			python("load", 12),
			event.Frame{},
			0.75,
		},
		{
			"the program's own line beside that of the standard library",
			waits(4, 5e6, libc, inner, get, python("next_batch", 88)), get, python("next_batch", 88), 1,
		},
		{
			"installed packages are no standard library",
			waits(4, 5e6, libc, inner, packaged, python("next_batch", 88)), packaged,
			event.Frame{},
			1,
		},
		{
			"a library's own function, and the line that calls it",
			waits(4, 5e6, libc, native("wait_for_event"), python("step", 31)), native("wait_for_event"), python("step", 31), 1,
		},
		{"too few", waits(2, 5e6, libc, native("wait_for_event")), event.Frame{}, event.Frame{}, 0},
		{"without a length", waits(9, 0, libc, native("wait_for_event")), event.Frame{}, event.Frame{}, 0},
		{"the C library says nothing", waits(9, 5e6, libc), event.Frame{}, event.Frame{}, 0},
	} {
		p, ok := code.FindWaits(c.samples)
		if ok != (c.function != (event.Frame{})) {
			t.Errorf("%s: found is %t", c.name, ok)
		}
		if ok && (p.Function != c.function || p.Caller != c.caller || p.Share != c.share || p.Syscall != 7) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// Of the functions of CUDA that call each other, the one is named that the program called.
func TestTheCallThatCodeRunsInIsFound(t *testing.T) {
	in := []event.Frame{native("cuMemHostAlloc"), native("cudaHostAlloc"), native("admit"), native("main")}
	for name, c := range map[string]struct {
		samples []code.Sample
		want    string
	}{
		"nested": {join(
			times(8, -1, append([]event.Frame{native("clock_gettime")}, in...)...),
			times(6, -1, append([]event.Frame{native("clear_page")}, in...)...)), "cudaHostAlloc"},
		"seldom": {join(times(5, -1, in...), times(9, -1, native("admit"), native("main"))), ""},
		"none":   {times(12, -1, native("admit"), native("main")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok := code.Find(c.samples)
			got := ""
			if p.Call != 0 {
				got = p.Call.String()
			}
			if !ok || got != c.want {
				t.Errorf("in the call %q, want %q", got, c.want)
			}
		})
	}
}
