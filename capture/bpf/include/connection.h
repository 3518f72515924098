/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What is reported of a TCP connection, and which thread opened it or waited on it. Used by the
 * programs on TCP (capture/probe/tcp) and by the scheduler's, which share `openers`. The records
 * become event.Connection in capture/probe/decode_host.go.
 *
 * Times are those of the events; round trips are the kernel's own estimates, in us. No program runs
 * for a packet: what is known of a connection is read when something happens to it.
 */
#ifndef INGERO_CONNECTION_H
#define INGERO_CONNECTION_H
#include <bpf/bpf_endian.h>
#include "thread.h"
#include "ops.h"

/*
 * The owner of a socket, by its address. Others are found by inode, in user space
 * (agent/hostio.go). An address is used again after a socket is freed: an entry is deleted when its
 * connection closes, and replaced when a thread of another process waits for it. LRU, because
 * a missing entry only costs the name, and connections may be many.
 */
struct opener {
	u64 at; /* when it was opened */
	u64 spike; /* when its last spike was reported */
	u32 tgid, tid;
	u32 retrans; /* segments that the kernel had sent again when it was last asked */
	u32 pad;
	char comm[COMM_LEN];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct opener);
} openers SEC(".maps");

/*
 * How many events a CPU has recorded in its current second: trouble comes in bursts, and must not
 * fill the ring. Per CPU, so that it needs no atomic instruction. What is beyond is counted
 * (LOSS_TCP).
 */
struct tcp_rate {
	u64 second, n;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tcp_rate);
} tcp_rates SEC(".maps");

#define TCP_PER_SECOND 1000

static __always_inline bool may_tell_tcp(u64 now)
{
	u32 zero = 0;
	struct tcp_rate *r = bpf_map_lookup_elem(&tcp_rates, &zero);

	if (!r)
		return false;
	if (now - r->second > 1000000000) {
		r->second = now;
		r->n = 0;
	}
	return r->n++ < TCP_PER_SECOND;
}

/* The current thread opens the connection. */
static __always_inline void note_opener(u64 key, u64 now)
{
	struct opener o = { .at = now };
	u64 id = bpf_get_current_pid_tgid();

	o.tgid = id >> 32;
	o.tid = id;
	bpf_get_current_comm(o.comm, COMM_LEN);
	bpf_map_update_elem(&openers, &key, &o, BPF_ANY);
}

/* An address of a connection as IPv6: one form for user space, IPv4 is mapped (::ffff:a.b.c.d). */
static __always_inline void address(u8 *to, struct sock *sk, bool remote)
{
	__builtin_memset(to, 0, 16);
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET6) {
		if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) /* CONFIG_IPV6 */
			return;
		if (remote)
			bpf_core_read(to, 16, &sk->__sk_common.skc_v6_daddr);
		else
			bpf_core_read(to, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		return;
	}
	u32 a = remote ? BPF_CORE_READ(sk, __sk_common.skc_daddr) : BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, &a, 4);
}

/*
 * Records an event of a connection, for `o` if its owner is known. It may run in the interrupt of
 * any task, so nothing is taken from the current one. srtt_us is in eighths; rtt_min is all ones
 * before the first measurement. sk_socket is null where no program has the connection, as before
 * it is accepted.
 */
static __always_inline void emit_tcp(struct sock *sk, struct opener *o, u64 start, u64 dur, u16 op, s32 error, u32 bytes)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tcp_rec *r = may_tell_tcp(bpf_ktime_get_ns()) ? bpf_ringbuf_reserve(&events, sizeof *r, 0) : 0;

	if (!r) {
		lose(LOSS_TCP);
		return;
	}
	r->h = (struct hdr){ start, o ? o->tid : 0, op, KIND_TCP, BPF_CORE_READ(sk, __sk_common.skc_state) };
	r->dur = dur;
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	r->ino = socket ? BPF_CORE_READ((struct socket_alloc *)socket, vfs_inode.i_ino) : 0;
	r->tgid = o ? o->tgid : 0;
	r->error = error;
	r->bytes = bytes;
	r->retrans = BPF_CORE_READ(tp, total_retrans);
	r->rtt = BPF_CORE_READ(tp, srtt_us) >> 3;
	u32 least = BPF_CORE_READ(tp, rtt_min.s[0].v);
	r->min_rtt = least == ~0u ? 0 : least;
	/* Not skc_num: a failed connection has already released it. */
	r->lport = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	r->rport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	__builtin_memset(r->pad, 0, sizeof r->pad);
	address(r->laddr, sk, false);
	address(r->raddr, sk, true);
	if (o)
		__builtin_memcpy(r->comm, o->comm, COMM_LEN);
	else
		__builtin_memset(r->comm, 0, COMM_LEN);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

#define SPIKE_TIMES 3      /* the shortest round trip */
#define SPIKE_US 10000     /* ... and so much longer */
#define SPIKE_APART 100000000 /* ns between two of a connection */

/* Notes how many segments of a connection have been sent again; reports whether that was known. */
static __always_inline bool count_retrans(struct opener *o, struct tcp_sock *tp)
{
	u32 total = BPF_CORE_READ(tp, total_retrans);
	bool known = o->retrans == total;

	o->retrans = total;
	return known;
}

/*
 * When the segment was sent that was acknowledged last: for a thread that has just got an answer, when its question
 * was sent again. rack.mstamp is in us, of the clock of bpf_ktime_get_ns. If it is not of this wait (an acknowledgement
 * that came sooner than ever is not believed, tcp_rack_advance in net/ipv4/tcp_recovery.c), the end of the wait.
 */
static __always_inline u64 sent_again_at(struct tcp_sock *tp, u64 from, u64 to)
{
	u64 at = BPF_CORE_READ(tp, rack.mstamp) * 1000;

	return at > from && at < to ? at : to - 1;
}

/*
 * An accounted thread waited on the connection, from `from` until it was woken at `woken`: so its owner is known now,
 * and its last round trip can be read. Segments that were sent again without a report, which happens (LOSS_SWITCH), are
 * seen in the kernel's own counter. Called where a wait is recorded one by one, so a connection that is only polled is
 * not looked at. The entry is looked up again after the update, since an LRU map may evict at any time.
 */
static __always_inline void waited_for(struct sock *sk, struct task_struct *task, u64 from, u64 woken, u64 now)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 key = (u64)sk, at = now, dur = 0;
	u16 op = OP_tcp_rtt_spike;
	struct opener *o = bpf_map_lookup_elem(&openers, &key);

	if (!o || o->tgid != task->tgid) {
		struct opener n = { .at = now, .tgid = task->tgid, .tid = task->pid };
		__builtin_memcpy(n.comm, task->comm, COMM_LEN);
		n.retrans = BPF_CORE_READ(tp, total_retrans);
		bpf_map_update_elem(&openers, &key, &n, BPF_ANY);
		o = bpf_map_lookup_elem(&openers, &key);
		if (!o)
			return;
	}
	if (!count_retrans(o, tp)) {
		at = sent_again_at(tp, from, woken);
		op = OP_tcp_retransmit;
	} else {
		u32 rtt = BPF_CORE_READ(tp, rack.rtt_us), least = BPF_CORE_READ(tp, rtt_min.s[0].v);
		if (!rtt || least == ~0u || rtt < least + SPIKE_US || rtt / SPIKE_TIMES < least || now - o->spike < SPIKE_APART)
			return;
		o->spike = now;
		dur = (u64)rtt * 1000;
	}
	emit_tcp(sk, o, at, dur, op, 0, 0); /* once: it is inlined */
}

#endif
