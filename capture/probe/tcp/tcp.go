// Package tcp holds the programs on the tracepoints of TCP connections in trouble:
// segments sent again, and connections that do not come about. They run where that
// happens and where a connection is opened or closed, never per packet. Spikes of the
// round trip are noticed by the scheduler's programs, when an accounted thread has
// waited for the connection.
package tcp

import (
	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package tcp Tcp tcp.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// programs lists the programs and the tracepoint each is for. All pass a socket.
var programs = []struct{ name, tracepoint string }{
	{"retransmit", "tcp_retransmit_skb"},
	{"set_state", "inet_sock_set_state"},
}

// Probe is the probe on TCP connections. What happens in an interrupt of the same program is not told.
var Probe = &kernel.Probe{
	Name: "TCP", Without: "TCP connections are not watched",
	Load: LoadTcp, Prepare: prepare,
	Counted: []string{"retransmit", "set_state"}, Lost: event.LostConnection,
}

func prepare(_ *ebpf.CollectionSpec, h *kernel.Host) (attach []string, err error) {
	for _, p := range programs {
		if err := h.CheckTracepoint(p.tracepoint, "sock"); err != nil {
			return nil, err
		}
		attach = append(attach, p.name)
	}
	return attach, nil
}
