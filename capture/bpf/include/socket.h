/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The socket that a thread waited for, by the file descriptor of its system call. Included once, by thread.h. */
#ifndef INGERO_SOCKET_H
#define INGERO_SOCKET_H
#include <bpf/bpf_endian.h>

/*
 * The open file of a descriptor, null if there is none. No lock is taken: the table may be replaced
 * meanwhile, and another thread may have closed the descriptor and opened another file under
 * its number. Then the answer is wrong, but a probe read cannot harm the kernel.
 */
static __always_inline struct file *file_of(struct task_struct *task, u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **fds = BPF_CORE_READ(fdt, fd), *file = 0;

	if (fd >= BPF_CORE_READ(fdt, max_fds) || bpf_probe_read_kernel(&file, sizeof file, &fds[fd]))
		return 0;
	return file;
}

/*
 * Says which socket `task`, which was in a socket call, waited for, and notes its
 * inode. Only a wait that is recorded pays for this. Returns the connection, 0 if it
 * is none of TCP. The record comes before the interval's, which has the same thread and start:
 * capture/probe/decode_host.go joins them.
 */
static __always_inline struct sock *emit_socket(struct thr *t, struct task_struct *task, u64 out)
{
	struct file *file = file_of(task, t->fd);

	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	t->ino = BPF_CORE_READ(file, f_inode, i_ino);
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return 0;
	struct sock_rec *s = bpf_ringbuf_reserve(&events, sizeof *s, 0);
	if (!s) {
		lose(LOSS_SOCK);
		return 0;
	}
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	bool tcp = false;
	s->h = (struct hdr){ out, task->pid, 0, KIND_SOCK, SOCK_OTHER };
	s->tgid = task->tgid;
	s->peer = s->lport = s->rport = s->bound = 0;
	__builtin_memset(s->pad, 0, sizeof s->pad);
	__builtin_memset(s->raddr, 0, sizeof s->raddr);
	if (family == AF_UNIX) {
		s->h.sub = SOCK_UNIX;
		struct unix_sock *u = (struct unix_sock *)sk;
		s->bound = BPF_CORE_READ(u, addr) != 0;
		s->peer = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
	} else if (family == AF_INET || family == AF_INET6) {
		if (BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP) {
			s->h.sub = SOCK_TCP;
			tcp = true;
		}
		s->lport = BPF_CORE_READ(sk, __sk_common.skc_num);
		s->rport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
		if (family == AF_INET6) {
			if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) /* CONFIG_IPV6 */
				BPF_CORE_READ_INTO(&s->raddr, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
		} else {
			s->raddr[10] = s->raddr[11] = 0xff;
			u32 addr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
			__builtin_memcpy(s->raddr + 12, &addr, 4);
		}
	}
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return tcp ? sk : 0;
}

#endif
