package report_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

func TestErrorsOfGPUsAreReported(t *testing.T) {
	t.Parallel()
	gpu := 1
	failed := []report.FailedAfter{
		{Process: "engine", PID: 100, Op: "cudaStreamSynchronize", Ret: 700, Calls: 1},
		{Process: "engine", PID: 100, Op: "cudaLaunchKernel", Ret: 700, Calls: 1200, AfterNS: 2_000_000},
		{Process: "engine", PID: 100, Op: "cudaMalloc", Ret: 700, Calls: 1, AfterNS: 3_000_000},
		{Process: "engine", PID: 100, Op: "cudaFree", Ret: 700, Calls: 1, AfterNS: 4_000_000},
	}
	r := &report.Report{Verdict: "v", GPUErrors: []report.GPUError{
		{
			AtNS: 1_000_000_000, GPU: &gpu, Xid: 31, Description: "GPU 1 reported Xid 31 (GPU memory page fault)", Times: 3,
			Failed: failed,
		},
		{AtNS: 2_000_000_000, Xid: 79, Description: "a GPU reported Xid 79 (GPU has fallen off the bus)", Times: 1},
	}}
	var b strings.Builder
	if err := report.WriteText(&b, r, report.TextOptions{Width: 400}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[GPU ERROR] GPU 1 reported Xid 31 (GPU memory page fault) at 00:00:01, and 2 times more: then " +
			"cudaStreamSynchronize of engine (100) failed with 700 (1 call); " +
			"2 ms later cudaLaunchKernel of engine (100) failed with 700 (1,200 calls); 3 ms later cudaMalloc of engine " +
			"(100) failed with 700 (1 call); and 1 more operations failed\n",
		"[GPU ERROR] a GPU reported Xid 79 (GPU has fallen off the bus) at 00:00:02\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
