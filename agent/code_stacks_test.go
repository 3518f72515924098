package agent

import (
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestFramesOfTheInterruptAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{
			"in a system call",
			[]string{"bpf_prog", "hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt", "compact_zone", "asm_exc_page_fault"},
			[]string{"compact_zone", "asm_exc_page_fault"},
		},
		{"in the program", []string{"hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt"}, nil},
		{"arm64", []string{"arch_timer_handler_virt", "el1h_64_irq", "do_compact"}, []string{"do_compact"}},
		{"arm64, in the program", []string{"arch_timer_handler_virt", "el0t_64_irq"}, nil},
		{"not known", []string{"hrtimer_interrupt", "elevate"}, nil},
		{"nothing", nil, nil},
	} {
		var frames []event.Frame
		for _, name := range c.in {
			frames = append(frames, event.Frame{Kind: event.FrameKernel, Symbol: name})
		}
		var got []string
		for _, f := range interrupted(frames) {
			got = append(got, f.Symbol)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStacksWithTheSameFunctionsAreOne(t *testing.T) {
	stack := func(at uint64, line uint32) []event.Frame {
		return functions([]event.Frame{
			{Kind: event.FrameNative, Symbol: "gc_collect_main", Module: "python3", Addr: at, Offset: at, Line: uint32(at), File: "gc.c"},
			{Kind: event.FrameNative, Module: "lib.so", Addr: at + 8, Offset: at + 8},
			{Kind: event.FrameNative, Module: "lib.so", Addr: at + 16, Offset: at + 16},
			{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: line},
		})
	}
	a, b, other := stack(1, 7), stack(2, 7), stack(1, 8)
	if !slices.Equal(a, b) || functionsID(1, a) != functionsID(1, b) || len(a) != 3 {
		t.Errorf("%v and %v differ", a, b)
	}
	if functionsID(1, a) == functionsID(1, other) || functionsID(1, a) == functionsID(2, a) || functionsID(1, nil) != 0 {
		t.Error("another line, another process or nothing has the same id")
	}
}
