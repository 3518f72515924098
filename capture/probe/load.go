package probe

import (
	"fmt"
	"maps"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/capture/probe/sched"
)

func (t *Tracer) load() error {
	if os.Geteuid() != 0 && !hasTracingCaps() {
		return explain(os.ErrPermission)
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		t.log.Debug("raise memlock limit", "err", err) // kernels from 5.11 on do not need it
	}
	t.types = btf.NewCache()
	defer func() { t.types = nil }() // they take tens of megabytes
	if _, err := t.types.Kernel(); err != nil {
		return fmt.Errorf("%w: /sys/kernel/btf/vmlinux is missing; use a kernel built with CONFIG_DEBUG_INFO_BTF=y (%w)",
			ErrNoBTF, err)
	}
	spec, err := sched.LoadSched()
	if err != nil {
		return fmt.Errorf("read scheduler object: %w", err)
	}
	if err := t.prepareSched(spec); err != nil {
		return err
	}
	if t.sched, err = kernel.Load(spec, ebpf.CollectionOptions{Cache: t.types}); err != nil {
		return explain(fmt.Errorf("load scheduler programs: %w", err))
	}
	t.shared = map[string]*ebpf.Map{}
	for _, name := range []string{
		"threads", "events", "lives", "losses", "limits", "queue", "py_procs", "py_sent", "py_threads",
	} {
		t.shared[name] = t.sched.Maps[name]
	}
	t.variant, t.calls, err = choose(t.opts.Backend, t.prepareCalls,
		ebpf.CollectionOptions{MapReplacements: maps.Clone(t.shared), Cache: t.types})
	if err != nil {
		return err
	}
	// A timer may interrupt a call's program while it walks the thread's frames: what runs in it has its own. A thread
	// that goes to sleep is in no program.
	delete(t.shared, "py_threads")
	t.python = interpreters{procs: t.calls.Maps["py_procs"], layouts: map[uint32]bpf.WirePyProc{}}
	if t.events, err = newRing(t.shared["events"]); err != nil {
		return err
	}
	if t.lives, err = newRing(t.shared["lives"]); err != nil {
		return err
	}
	switch {
	case t.opts.Empty:
		return t.hook("empty_waking", "empty_switch")
	case t.opts.NoLedger:
		return nil
	}
	t.shared["openers"] = t.sched.Maps["openers"]
	t.loadProbes()
	return t.hook(ledgerHooks...)
}

// ledgerHooks are the scheduler's programs that keep the ledger, in the order in which they are attached.
var ledgerHooks = []string{"on_fork", "on_exec", "on_exit", "on_waking", "on_timer", "on_switch"}

func (t *Tracer) prepareSched(s *ebpf.CollectionSpec) error {
	if err := keepSwitch(s, t.types); err != nil {
		return err
	}
	s.Maps["events"].MaxEntries = uint32(t.opts.RingBytes)
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count CPUs: %w", err)
	}
	s.Maps["cpus"].MaxEntries = uint32(cpus)
	return kernel.Set(s, map[string]any{
		"class_of":     sched.Classes(),
		"off_min_ns":   uint64(t.opts.OffMin),
		"self_tgid":    uint32(os.Getpid()),
		"sample_waits": t.opts.Stack != StackOff,
		"stack_room":   uint64(t.opts.RingBytes / 2),
		"use_python":   t.usePython(),
	})
}

func (t *Tracer) prepareCalls(s *ebpf.CollectionSpec) error {
	s.Maps["events"].MaxEntries = uint32(t.opts.RingBytes)
	vars := map[string]any{
		"self_tgid":    uint32(os.Getpid()),
		"use_ledger":   !t.opts.NoLedger,
		"stack_all":    t.opts.Stack == StackAll,
		"stack_failed": t.opts.Stack != StackOff,
		"stack_room":   uint64(t.opts.RingBytes / 2),
		"use_python":   t.usePython(),
	}
	if t.opts.Stack == StackSlow {
		vars["stack_every"] = uint64(stackSample)
		vars["stack_quota"], vars["stack_pages"] = uint32(stackQuota), uint32(pageQuota)
	}
	return kernel.Set(s, vars)
}

// usePython reports whether stacks have Python frames.
func (t *Tracer) usePython() bool { return t.opts.Stack != StackOff && PythonSupport() == nil }

// hook attaches programs to the scheduler's tracepoints.
func (t *Tracer) hook(names ...string) error {
	links, err := kernel.Attach(t.sched, names...)
	t.hooks = append(t.hooks, links...)
	if err != nil {
		return explain(err)
	}
	return nil
}
