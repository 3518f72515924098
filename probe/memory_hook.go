package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/probe/memory"
)

// watchMemory attaches the programs on memory reclaim. Which tracepoints there
// are depends on the kernel; without them tracing works, and reclaim shows as
// what its thread did in it: run, or wait for the disk.
func (t *Tracer) watchMemory() {
	if err := t.hookMemory(); err != nil {
		t.log.Info("memory reclaim is not watched", "err", err)
	}
}

func (t *Tracer) hookMemory() error {
	spec, err := memory.LoadMemory()
	if err != nil {
		return fmt.Errorf("read memory object: %w", err)
	}
	there, err := memoryHooks(t.types)
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
	switch task, err := passesTask(t.types, memory.Victim.Tracepoint); {
	case err != nil:
		t.log.Info("processes ended for lack of memory are not told", "err", err)
		delete(spec.Programs, memory.Victim.Program)
	default:
		if err := set(spec, map[string]any{"victim_is_task": task}); err != nil {
			return err
		}
		wanted = append(wanted, memory.Victim.Program)
	}
	if len(wanted) == 0 {
		return errors.New("the kernel has none of the tracepoints")
	}
	if t.memory, err = t.loadHooks(spec, wanted); err != nil {
		return err
	}
	m := t.memory.Maps["ooms"]
	t.oomRing, err = newRing(m.FD(), int(m.MaxEntries()))
	return err
}

// passesTask reports whether the first argument of a tracepoint is a task; it may be
// a number.
func passesTask(types *btf.Cache, tracepoint string) (bool, error) {
	kernel, err := types.Kernel()
	if err != nil {
		return false, fmt.Errorf("read the kernel's types: %w", err)
	}
	var d *btf.Typedef
	if err := kernel.TypeByName("btf_trace_"+tracepoint, &d); err != nil {
		return false, fmt.Errorf("the kernel has no tracepoint %s: %w", tracepoint, err)
	}
	p, ok := btf.UnderlyingType(d).(*btf.Pointer)
	if !ok {
		return false, nil
	}
	f, ok := p.Target.(*btf.FuncProto)
	if !ok || len(f.Params) < 2 { // the first is private data
		return false, nil
	}
	_, ok = btf.UnderlyingType(f.Params[1].Type).(*btf.Pointer)
	return ok, nil
}

// MemoryHooks says which tracepoints of memory reclaim the running kernel has, by
// name: both of a pair, or neither.
func MemoryHooks() (map[string]bool, error) { return memoryHooks(btf.NewCache()) }

func memoryHooks(types *btf.Cache) (map[string]bool, error) {
	kernel, err := types.Kernel()
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
