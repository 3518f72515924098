package diagnose_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
)

func TestProcessesHaveWarningsAboutTheirGraphs(t *testing.T) {
	p, _ := perProcess(t, "graph_capture_failed", nil)
	if !warned(p, "3 of 5 graph captures failed: cudaMalloc is not allowed in one (error 900)") || warned(p, "called it") {
		t.Errorf("warnings %q", p.Warnings)
	}
	p, _ = perProcess(t, "graph_capture_failed", func(in *diagnose.Input) {
		in.Stacks = map[uint64]event.Stack{0x21: {ID: 0x21, Frames: []event.Frame{
			{Kind: event.FrameNative, Symbol: "cudaMalloc", Module: "libcudart.so.12"},
			{Kind: event.FrameNative, Symbol: "cublasCreate_v2", Module: "libcublas.so.12"},
		}}}
	})
	if !warned(p, "and libcublas.so.12 called it: if libcublas.so.12 initialises itself at its first use, use it once "+
		"before the capture") {
		t.Errorf("warnings %q", p.Warnings)
	}
	p, _ = perProcess(t, "graph_left", nil)
	if !warned(p, "graph pool grows: 150 executable graphs made and not destroyed") ||
		!warned(p, "graph launches fell from 50 to 10 a second") {
		t.Errorf("warnings %q", p.Warnings)
	}
	for _, good := range []string{"graph_recapture", "control_graph_warmup"} {
		p, _ = perProcess(t, good, nil)
		if warned(p, "captures failed") || warned(p, "fell from") {
			t.Errorf("%s: warnings %q", good, p.Warnings)
		}
	}
}
