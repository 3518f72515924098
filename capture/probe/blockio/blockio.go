// Package blockio holds the programs on the tracepoints of requests to block
// devices: who asked which device for what, how long the request waited for the
// device, and how long the device took. A request costs about a microsecond
// more; nothing else on the machine costs anything, but that a write to a file looks
// at whether its thread is accounted for.
//
// Devices without a request queue (device mapper, md, zram, brd) have no such
// tracepoints: what they pass on to others is seen there.
package blockio

import (
	"os"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package blockio Blockio blockio.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// programs lists the programs, the tracepoint each is for, and the type of its first argument. Before
// Linux 5.11 the request came second. Without the programs that are needed there are no requests;
// without the others less is known about them.
var programs = []struct {
	name, tracepoint, firstArg string
	needed                     bool
}{
	{"rq_issue", "block_rq_issue", "request", true},
	{"rq_complete", "block_rq_complete", "request", true},
	{"rq_insert", "block_rq_insert", "request", false},
	{"dirty_inode", "writeback_mark_inode_dirty", "inode", false},
}

// Probe is the probe on block devices. What happens in an interrupt of the same program is not told.
var Probe = &kernel.Probe{
	Name: "block I/O", Without: "requests to block devices are not watched",
	Load: LoadBlockio, Prepare: prepare,
	Counted: []string{"rq_issue", "rq_complete"}, Lost: event.LostRequest,
}

// perSecond replaces the limit per_second of the programs in tests; 0: it stays.
var perSecond uint32

func prepare(s *ebpf.CollectionSpec, h *kernel.Host) (attach []string, err error) {
	for _, p := range programs {
		if err := h.CheckTracepoint(p.tracepoint, p.firstArg); err != nil {
			if p.needed {
				return nil, err
			}
			delete(s.Programs, p.name)
			h.Log.Info("requests to block devices are known less well", "err", err)
			continue
		}
		attach = append(attach, p.name)
	}
	values := map[string]any{"self_tgid": uint32(os.Getpid())}
	if perSecond != 0 {
		values["per_second"] = perSecond
	}
	return attach, kernel.Set(s, values)
}
