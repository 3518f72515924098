// Package tcp holds the programs on the tracepoints of TCP connections in trouble:
// segments sent again, and connections that do not come about. They run where that
// happens and where a connection is opened or closed, never per packet. Spikes of the
// round trip are noticed by the scheduler's programs, when an accounted thread has
// waited for the connection.
package tcp

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package tcp Tcp tcp.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// Programs lists the programs and the tracepoint each is for.
var Programs = []struct{ Program, Tracepoint string }{
	{"retransmit", "tcp_retransmit_skb"},
	{"set_state", "inet_sock_set_state"},
}
