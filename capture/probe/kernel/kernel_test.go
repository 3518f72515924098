package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestTracepointsAreCheckedByTheirArguments(t *testing.T) {
	kerneltest.Require(t)
	h := &kernel.Host{Types: btf.NewCache()}
	if err := h.CheckTracepoint("inet_sock_set_state", "sock"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ tracepoint, firstArg, says string }{
		{"inet_sock_set_state", "request", "other arguments"},
		{"sched_switch", "task_struct", "other arguments"}, // a bool comes first
		{"no_such_tracepoint", "sock", "has no tracepoint no_such_tracepoint"},
	} {
		if err := h.CheckTracepoint(c.tracepoint, c.firstArg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s with a %s: %v", c.tracepoint, c.firstArg, err)
		}
	}
	if f, err := h.Tracepoint("sched_switch"); err != nil || len(f.Params) < 4 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A probe that the kernel lacks something for is not loaded, and one that cannot be filled is unloaded.
func TestAProbeThatCannotBePreparedIsNotLoaded(t *testing.T) {
	lacks, full := errors.New("lacks"), errors.New("full")
	p := &kernel.Probe{
		Name:    "test",
		Load:    func() (*ebpf.CollectionSpec, error) { return &ebpf.CollectionSpec{}, nil },
		Prepare: func(*ebpf.CollectionSpec, *kernel.Host) ([]string, error) { return nil, lacks },
	}
	loads := 0
	load := func(*ebpf.CollectionSpec) (*ebpf.Collection, error) {
		loads++
		return new(ebpf.Collection), nil
	}
	if l, err := kernel.New(p, &kernel.Host{}, load); l != nil || !errors.Is(err, lacks) || loads != 0 {
		t.Errorf("%v, %v, loaded %d times", l, err, loads)
	}
	p.Prepare, p.Fill = nil, func(*ebpf.Collection) error { return full }
	if l, err := kernel.New(p, &kernel.Host{}, load); l != nil || !errors.Is(err, full) || loads != 1 {
		t.Errorf("%v, %v, loaded %d times", l, err, loads)
	}
	p.Fill = nil
	l, err := kernel.New(p, &kernel.Host{ToUnix: 7}, load)
	if err != nil || l.ToUnix != 7 || l.Missed("no such program") != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
