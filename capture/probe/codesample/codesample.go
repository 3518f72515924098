// Package codesample holds the program that samples which code runs: of a thread that makes CUDA calls and makes none
// for a while, or is in the kernel, and of those that it has waited for. It runs when a timer interrupts such a
// thread, and samples each CPU about 55 times a second at most.
package codesample

import (
	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package codesample Codesample codesample.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

const program = "sample" // on hrtimer_expire_entry

// pageQuota is how many pages a CPU copies of large stacks in 2^30 ns. A stack costs that of a small one beyond it.
const pageQuota = 512

// Probe is the probe that samples code.
var Probe = &kernel.Probe{
	Name: "code samples", Without: "which code runs between calls is not sampled",
	Load: LoadCodesample, Prepare: prepare,
	Counted: []string{program}, Lost: event.LostCode,
}

func prepare(s *ebpf.CollectionSpec, h *kernel.Host) (attach []string, err error) {
	if h.Stacks {
		attach = append(attach, program)
	}
	return attach, kernel.Set(s, map[string]any{
		"use_python": h.Python, "stack_room": h.Ring / 2, "stack_pages": uint32(pageQuota),
	})
}
