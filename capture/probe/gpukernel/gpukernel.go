// Package gpukernel holds the programs that learn what GPU kernels are called:
// when a program registers those compiled into it, and when it looks one up in a
// module that it loaded. They run at a program's start and when it loads code,
// never at a launch.
package gpukernel

import (
	"os"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package gpukernel Name gpukernel.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// Probe is the probe on functions that tell names. It is attached by library, not in the kernel:
// package probe does that. Without it launches are told by address, or by the symbol of their host
// function.
var Probe = &kernel.Probe{
	Name: "kernel name", Without: "names of kernels are not learnt",
	Load: LoadName, Prepare: prepare, Ring: "names",
}

func prepare(s *ebpf.CollectionSpec, h *kernel.Host) (attach []string, err error) {
	other := "perf"
	if h.Perf {
		other = "multi"
	}
	delete(s.Programs, other+"_enter")
	delete(s.Programs, other+"_return")
	return nil, kernel.Set(s, map[string]any{"self_tgid": uint32(os.Getpid())})
}
