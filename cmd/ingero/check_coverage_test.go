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
