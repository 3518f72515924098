// Package pages holds the program on the kernel's page allocator: how much memory is
// each process given? Every page of the machine passes it while it is attached, so it is
// only where that is asked for; it counts, and tells nothing one by one.
package pages

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package pages -type page_sum -type page_owner Pages pages.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

const program = "page_alloc" // on mm_page_alloc

// Probe is the probe on page allocations, with room for so many processes; 0: as many as it is
// made for. It is there only while a Counter is.
func Probe(processes uint32) *kernel.Probe {
	return &kernel.Probe{
		Name: "page allocation", Load: LoadPages, Fill: fill,
		Prepare: func(s *ebpf.CollectionSpec, _ *kernel.Host) (attach []string, err error) {
			if processes > 0 {
				s.Maps["page_sums"].MaxEntries = processes
			}
			return []string{program}, nil
		},
	}
}

// fill makes room for process 0, which stands for the processes there is no room for.
func fill(c *ebpf.Collection) error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count CPUs: %w", err)
	}
	return c.Maps["page_sums"].Put(uint32(0), make([]PagesPageSum, cpus))
}
