//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What goes wrong on TCP connections: segments that have to be sent again, and
// connections that do not come about. Nothing here runs per packet or system call.
//
// Hooks: tcp_retransmit_skb, and inet_sock_set_state for connections that open and close. The map
// `openers` and the record are in connection.h; the scheduler's programs add owners, and report
// spikes of the round trip. capture/probe/decode_host.go reads the records. The arguments are taken
// from ctx by number; tcp.go checks that the first one is a struct sock.
#include "thread.h"
#include "connection.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ESTABLISHED 1 /* include/net/tcp_states.h */
#define SYN_SENT 2
#define CLOSE 7

// Runs in the timer or in the receive path, in the middle of any task: only the map knows the
// owner. A connection without an entry is reported with its inode, which user space looks up in
// /proc.
SEC("tp_btf/tcp_retransmit_skb")
int retransmit(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	u64 key = ctx[0], now = bpf_ktime_get_ns();
	struct opener *o = bpf_map_lookup_elem(&openers, &key);

	if (o)
		count_retrans(o, (struct tcp_sock *)sk);
	emit_tcp(sk, o, now, 0, OP_tcp_retransmit, 0, BPF_CORE_READ(skb, len));
	return 0;
}

// Connections are opened by their process, and come about or fail in the middle of whatever runs
// then. So the owner is noted at SYN_SENT, while connect() runs. An accepted connection has no
// such moment, and gets an owner when a thread waits for it. A direct step from SYN_SENT to CLOSE
// is a failed connect; sk_err says why, 0 if the program gave up. The entry is deleted at the end,
// because the address of the socket will be used again.
SEC("tp_btf/inet_sock_set_state")
int set_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	u64 key = ctx[0];
	int from = (int)ctx[1], to = (int)ctx[2];

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	if (to == SYN_SENT) {
		note_opener(key, bpf_ktime_get_ns());
		return 0;
	}
	if (to != CLOSE)
		return 0;
	if (from == SYN_SENT) {
		u64 now = bpf_ktime_get_ns();
		struct opener *o = bpf_map_lookup_elem(&openers, &key);
		emit_tcp(sk, o, o ? o->at : now, o ? now - o->at : 0, OP_tcp_connect_failed, BPF_CORE_READ(sk, sk_err), 0);
	}
	bpf_map_delete_elem(&openers, &key);
	return 0;
}
