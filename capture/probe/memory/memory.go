// Package memory holds the programs on the tracepoints of memory reclaim and
// compaction: when did a thread that wanted memory have to make room first? They
// run nowhere else, so that a machine with free memory pays nothing. A kernel
// that lacks some of the tracepoints is watched through the others.
package memory

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package memory Memory memory.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

type program struct{ name, tracepoint string }

// pairs lists the programs on reclaim: begin and end of a kind of reclaim are of
// use only together.
var pairs = [][2]program{
	{{"direct_begin", "mm_vmscan_direct_reclaim_begin"}, {"direct_end", "mm_vmscan_direct_reclaim_end"}},
	{{"memcg_begin", "mm_vmscan_memcg_reclaim_begin"}, {"memcg_end", "mm_vmscan_memcg_reclaim_end"}},
	{{"compact_begin", "mm_compaction_begin"}, {"compact_end", "mm_compaction_end"}},
}

// victim is the program on the end of processes for lack of memory. In kernels from
// 6.8 on its tracepoint passes the task, before only its number.
var victim = program{"victim", "mark_victim"}

// Probe is the probe on memory reclaim. Which tracepoints there are depends on the kernel; without
// them reclaim shows as what its thread did in it: run, or wait for the disk. Processes that are
// ended for lack of memory come by a ring of their own.
var Probe = &kernel.Probe{
	Name: "memory", Without: "memory reclaim is not watched",
	Load: LoadMemory, Prepare: prepare, Ring: "oom_ring",
}

func prepare(s *ebpf.CollectionSpec, h *kernel.Host) (attach []string, err error) {
	there, err := tracepoints(h)
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		for _, p := range pair {
			if there[p.tracepoint] {
				attach = append(attach, p.name)
			} else {
				delete(s.Programs, p.name)
			}
		}
	}
	firstArg, err := h.FirstArgument(victim.tracepoint)
	if err != nil {
		h.Log.Info("processes ended for lack of memory are not told", "err", err)
		delete(s.Programs, victim.name)
	} else {
		if err := kernel.Set(s, map[string]any{"victim_is_task": firstArg != nil}); err != nil {
			return nil, err
		}
		attach = append(attach, victim.name)
	}
	if len(attach) == 0 {
		return nil, errors.New("the kernel has none of the tracepoints")
	}
	return attach, nil
}

// Tracepoints says which tracepoints of memory reclaim the running kernel has, by
// name: both of a pair, or neither.
func Tracepoints() (map[string]bool, error) { return tracepoints(&kernel.Host{Types: btf.NewCache()}) }

func tracepoints(h *kernel.Host) (map[string]bool, error) {
	if _, err := h.Types.Kernel(); err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	there := map[string]bool{}
	for _, pair := range pairs {
		both := true
		for _, p := range pair {
			_, err := h.Tracepoint(p.tracepoint)
			both = both && err == nil
		}
		for _, p := range pair {
			there[p.tracepoint] = both
		}
	}
	return there, nil
}
