// Package syscalls holds the programs on system calls: how often a process asks
// the kernel for what, how long that takes, what fails, and which files and sockets
// it touches. They count in maps, which package probe reads once a second; they are
// attached only while a footprint is wanted, because every system call of the
// machine passes them.
package syscalls

import (
	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package syscalls -type call_key -type call_sum -type errno_key -type touch_key -type touch -type path_name -type miss_key -type exec_key -type exec_name -type cpu_sum Syscalls syscalls.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// programs lists those to be attached, in order: what marks threads before what
// counts their calls, so that none is missed.
var programs = []string{"on_birth", "on_program", "on_end", "on_return", "on_syscall"}

// Probe is the probe on system calls, with tables of so many entries; 0: as many as they are made
// for. It is there only while a Footprint is.
func Probe(entries uint32) *kernel.Probe {
	return &kernel.Probe{
		Name: "system call", Load: LoadSyscalls,
		Prepare: func(s *ebpf.CollectionSpec, _ *kernel.Host) (attach []string, err error) {
			for _, m := range s.Maps {
				if entries > 0 && m.Type == ebpf.Hash {
					m.MaxEntries = entries
				}
			}
			return programs, kernel.Set(s, map[string]any{"what_of": AccessKinds()})
		},
	}
}
