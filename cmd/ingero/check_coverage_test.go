package main

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// What is said of a process does not contradict what is said to be not seen of it.
func TestTracedProcessesSayWhatIsNotTraced(t *testing.T) {
	for want, p := range map[string]coverage.Process{
		"7 train: traced: yes\n": {
			Traced: coverage.Yes, NotSeen: []coverage.Reason{{Code: "no_runtime", What: "no runtime calls"}},
		},
		"7 train: traced: yes, except 1 function\n": {
			Traced: coverage.Yes, NotSeen: []coverage.Reason{{Code: "untraced_function", What: "calls of ncclCommGrow"}},
		},
		"7 train: traced: yes, except 3 functions\n": {Traced: coverage.Yes, NotSeen: []coverage.Reason{
			{Code: "untraced_function", What: "calls of ncclCommGrow, ncclCommShrinkBy"},
			{Code: "untraced_function", What: "calls of cudaFrobnicate"},
		}},
		"7 train: traced: partly\n": {Traced: coverage.Partly, NotSeen: []coverage.Reason{
			{Code: "untraced_launch", What: "GPU work handed over by cudaLaunchKernelTomorrow"},
			{Code: "untraced_function", What: "calls of cudaFrobnicate"},
		}},
	} {
		p.PID, p.Name = 7, "train"
		var b strings.Builder
		writeCovered(&b, &p)
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

// Each PyTorch program has libraries of NVIDIA's with such copies, and what they do is seen.
func TestCopiesOfTheRuntimeAreOneLine(t *testing.T) {
	process := func(driver bool, more ...coverage.Reason) coverage.Process {
		p := coverage.Process{PID: 7, Name: "train", Traced: coverage.Partly, Libraries: []coverage.Library{
			{Kind: "driver", Path: "/lib/libcuda.so.1", Timed: driver},
		}}
		for _, name := range []string{"libcublas.so.13", "libcurand.so.10"} {
			p.Libraries = append(p.Libraries, coverage.Library{Kind: "runtime", Path: "/nvidia/" + name, Embedded: true})
			p.NotSeen = append(p.NotSeen, coverage.Reason{
				Code: "stripped_runtime", What: "runtime calls from inside " + name, Why: "no symbols", Next: "build it otherwise",
			})
		}
		p.NotSeen = append(p.NotSeen, more...)
		return p
	}
	const (
		one = "  not seen: runtime calls from inside libcublas.so.13, libcurand.so.10: copies of the CUDA runtime without " +
			"symbols; their launches, copies and waits are seen as driver calls [stripped_runtime]\n"
		each = "  not seen: runtime calls from inside libcurand.so.10: no symbols [stripped_runtime]\n    → build it otherwise\n"
	)
	for _, tt := range []struct {
		name, first, has, hasNot string
		p                        coverage.Process
	}{
		{"as usual", "yes, 2 files as driver calls", one, "/nvidia/", process(true)},
		{"the driver is not timed", "partly", each, one, process(false)},
		{
			"something else, too", "partly", one, each,
			process(true, coverage.Reason{Code: "file_gone", What: "calls of libnccl.so.2"}),
		},
		{
			"a function, too", "yes, 2 files as driver calls, except 1 function", one, each,
			process(true, coverage.Reason{Code: "untraced_function", What: "calls of cudaFrobnicate"}),
		},
	} {
		var b strings.Builder
		writeCovered(&b, &tt.p)
		said := b.String()
		if first := "7 train: traced: " + tt.first + "\n"; !strings.HasPrefix(said, first) {
			t.Errorf("%s: %q, want %q", tt.name, said, first)
		}
		if !strings.Contains(said, tt.has) || strings.Contains(said, tt.hasNot) {
			t.Errorf("%s: %q should contain %q, and not %q", tt.name, said, tt.has, tt.hasNot)
		}
	}
}
