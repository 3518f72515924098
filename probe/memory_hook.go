package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"github.com/ingero-io/ingero/probe/memory"
)

// watchMemory attaches the programs on memory reclaim. Which tracepoints there
// are depends on the kernel; without them tracing works, and reclaim shows as
// what its thread did in it: run, or wait for the disk.
func (t *Tracer) watchMemory(shared map[string]*ebpf.Map) {
	if err := t.hookMemory(shared); err != nil {
		t.log.Info("memory reclaim is not watched", "err", err)
	}
}

func (t *Tracer) hookMemory(shared map[string]*ebpf.Map) error {
	spec, err := memory.LoadMemory()
	if err != nil {
		return fmt.Errorf("read memory object: %w", err)
	}
	there, err := MemoryHooks()
	if err != nil {
		return err
	}
	var wanted []string
	for _, pair := range memory.Hooks {
		for _, h := range pair {
			if there[h.Tracepoint] {
				wanted = append(wanted, h.Program)
			} else {
				delete(spec.Programs, h.Program)
			}
		}
	}
	if len(wanted) == 0 {
		return errors.New("the kernel has none of the tracepoints")
	}
	replace := map[string]*ebpf.Map{}
	for name := range spec.Maps {
		if m := shared[name]; m != nil {
			spec.Maps[name].MaxEntries = m.MaxEntries()
			replace[name] = m
		}
	}
	if t.memory, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: replace}); err != nil {
		return fmt.Errorf("load memory programs: %w", err)
	}
	for _, name := range wanted {
		l, err := link.AttachTracing(link.TracingOptions{Program: t.memory.Programs[name]})
		if err != nil {
			return fmt.Errorf("attach %s: %w", name, err)
		}
		t.hooks = append(t.hooks, l)
	}
	return nil
}

// MemoryHooks says which tracepoints of memory reclaim the running kernel has, by
// name: both of a pair, or neither.
func MemoryHooks() (map[string]bool, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	there := map[string]bool{}
	for _, pair := range memory.Hooks {
		both := true
		for _, h := range pair {
			var d *btf.Typedef
			both = both && kernel.TypeByName("btf_trace_"+h.Tracepoint, &d) == nil
		}
		for _, h := range pair {
			there[h.Tracepoint] = both
		}
	}
	return there, nil
}
