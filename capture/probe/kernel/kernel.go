// Package kernel says what a probe in the kernel is: a value that names its programs, what they
// need of the running kernel, and where they are attached. Each has a folder of its own beside this
// one, with its programs in C, the value and a test. Package probe has the list, and loads them.
package kernel

import (
	"fmt"
	"log/slog"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/event"
)

// Probe is an object of programs that share maps with the tracer's own (threads, events, and
// others that capture/bpf/include declares). What is not needed is left out.
type Probe struct {
	// Name is what errors call the object.
	Name string
	// Without is what is logged where the probe cannot be had: tracing goes on without it.
	Without string
	// Load reads the embedded object.
	Load func() (*ebpf.CollectionSpec, error)
	// Prepare sets the object's variables, removes programs that the kernel or the tracer has no use
	// for, and returns those that are to be attached to their tracepoints, in this order. An error
	// says that the kernel lacks what the probe cannot be without.
	Prepare func(*ebpf.CollectionSpec, *Host) (attach []string, err error)
	// Fill puts into the maps what has to be there before a program runs.
	Fill func(*ebpf.Collection) error
	// Iterator is a program of a task iterator. It runs whenever Loaded.Iterator is read.
	Iterator string
	// Ring is a ring buffer of the probe's own. It is drained before the tracer's, and its records
	// are decoded with all others.
	Ring string
	// Counted are programs for which it is a loss, of kind Lost, if the kernel does not run them
	// because another run of the same was in progress on the CPU.
	Counted []string
	Lost    event.LossKind
}

// Host is what a probe is prepared for.
type Host struct {
	Types  *btf.Cache // of the running kernel
	Perf   bool       // functions of libraries are probed by perf events: the perf back end
	Stacks bool       // user stacks are taken
	Python bool       // they have Python frames
	Ring   uint64     // bytes of the ring that the records go to
	ToUnix uint64     // Unix ns = CLOCK_MONOTONIC ns + ToUnix
	Log    *slog.Logger
}

// Tracepoint is the function type of a tracepoint. Its first parameter is private data of the program.
// An error says that the kernel has no such tracepoint, or no types.
func (h *Host) Tracepoint(name string) (*btf.FuncProto, error) {
	types, err := h.Types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	var d *btf.Typedef
	if err := types.TypeByName("btf_trace_"+name, &d); err != nil {
		return nil, fmt.Errorf("the kernel has no tracepoint %s: %w", name, err)
	}
	if p, ok := btf.UnderlyingType(d).(*btf.Pointer); ok {
		if f, ok := p.Target.(*btf.FuncProto); ok {
			return f, nil
		}
	}
	return &btf.FuncProto{}, nil
}

// FirstArgument is the type that the first argument of a tracepoint points to. It is nil if there
// is no argument, or it is not a pointer.
func (h *Host) FirstArgument(tracepoint string) (btf.Type, error) {
	f, err := h.Tracepoint(tracepoint)
	if err != nil || len(f.Params) < 2 {
		return nil, err
	}
	if p, ok := btf.UnderlyingType(f.Params[1].Type).(*btf.Pointer); ok {
		return btf.UnderlyingType(p.Target), nil
	}
	return nil, nil
}

// CheckTracepoint checks that a tracepoint exists, and that its first argument points to the
// struct that its programs expect; the tracepoint's name does not encode it.
func (h *Host) CheckTracepoint(tracepoint, structure string) error {
	got, err := h.FirstArgument(tracepoint)
	if err != nil {
		return err
	}
	if s, ok := got.(*btf.Struct); ok && s.Name == structure {
		return nil
	}
	return fmt.Errorf("the kernel's tracepoint %s has other arguments", tracepoint)
}

// Set sets variables of an object.
func Set(s *ebpf.CollectionSpec, vars map[string]any) error {
	for name, v := range vars {
		if err := s.Variables[name].Set(v); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
