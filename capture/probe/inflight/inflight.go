// Package inflight holds the program that tells which threads are in a call that
// has not returned, or have made none for long. It is attached to nothing: it runs when user space reads the
// task iterator, about once a second, and costs the traced threads nothing.
package inflight

import (
	"time"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package inflight InFlight inflight.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// MinAge is how old a call must be to be reported; MinSilence, for how long a thread that makes calls must have made
// none.
const (
	MinAge     = time.Second
	MinSilence = 3 * time.Second
)

// Probe is the probe on calls that have not returned. Without it a call is recorded when it returns.
var Probe = &kernel.Probe{
	Name: "in-flight", Without: "calls that have not returned are not reported",
	Load: LoadInFlight, Prepare: prepare, Iterator: "flights",
}

func prepare(s *ebpf.CollectionSpec, _ *kernel.Host) (attach []string, err error) {
	return nil, kernel.Set(s, map[string]any{"min_ns": uint64(MinAge), "silent_ns": uint64(MinSilence)})
}
