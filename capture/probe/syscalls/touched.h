/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which file or socket is behind the descriptor, path or address of a system call,
 * and its name. Included once, after the maps.
 *
 * It runs at the return of the call, in the thread, before it can do anything else. Kernel
 * structures are read without locks, so another thread of the process may have closed or renamed
 * the file meanwhile: then the row or the name is that of what is there now. A probe read of
 * something freed gives a wrong value, and harms nothing.
 */
#ifndef INGERO_TOUCHED_H
#define INGERO_TOUCHED_H
#include <bpf/bpf_endian.h>

/* The open file of a descriptor, null if there is none. */
static __always_inline struct file *file_at(struct task_struct *task, u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **fds = BPF_CORE_READ(fdt, fd), *file = 0;

	if (fd >= BPF_CORE_READ(fdt, max_fds) || bpf_probe_read_kernel(&file, sizeof file, &fds[fd]))
		return 0;
	return file;
}

/* Steps of a walk: path components, and mounts that are crossed. The verifier needs a bound. */
#define COMPONENTS 48

// The path of a file as its process sees it, component by component towards the
// root: out of mounts into what they are mounted on. Built here, once for each file, because
// user space could not read it from a file that is closed again; bpf_d_path is not allowed in these
// programs. A path is put into `names` last component first, and turned round in pathOf (read.go).
//
// A struct mount contains the vfsmount that files point to, so its address is found by the
// offset of that field in the running kernel. The mask keeps the offset within name.b; a component
// that begins at its end runs into scratch.over, which is there for that.
static __always_inline void name_file(struct task_struct *task, struct file *file, struct touch *v, const struct touch_key *k)
{
	struct scratch *s = the_scratch();
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry), *root = BPF_CORE_READ(task, fs, root.dentry);
	struct vfsmount *m = BPF_CORE_READ(file, f_path.mnt), *top = BPF_CORE_READ(task, fs, root.mnt);
	u32 off = 0;

	if (!s)
		return;
	s->name.cut = 0;
	for (int i = 0; i < COMPONENTS; i++) {
		struct dentry *up = BPF_CORE_READ(d, d_parent);
		if (d == root && m == top) /* where the process's paths begin */
			break;
		if (d == BPF_CORE_READ(m, mnt_root)) {
			struct mount *in = (void *)m - bpf_core_field_offset(struct mount, mnt), *out = BPF_CORE_READ(in, mnt_parent);
			if (!out || out == in) /* mounted nowhere: outside of that root */
				break;
			d = BPF_CORE_READ(in, mnt_mountpoint);
			m = (void *)out + bpf_core_field_offset(struct mount, mnt);
			continue;
		}
		if (d == up) /* no parent: not below the root of its mount */
			break;
		barrier_var(off);
		off &= PATH_ROOM - 1;
		long n = bpf_probe_read_kernel_str(s->name.b + off, 256, BPF_CORE_READ(d, d_name.name));
		if (n < 0)
			break;
		if (off + n >= PATH_ROOM || i == COMPONENTS - 1) {
			s->name.cut = 1;
			break;
		}
		off += n;
		d = up;
	}
	s->name.len = off;
	v->named = !bpf_map_update_elem(&names, k, &s->name, BPF_ANY);
	if (!v->named) /* user space will have made room by the next use; or it is never named */
		lose(LOSS_FOOTPRINT);
}

// An IPv4 address, mapped into IPv6, and its port in host order.
static __always_inline void address_in(struct touch *v, const struct sockaddr_in *in)
{
	v->raddr[10] = v->raddr[11] = 0xff;
	__builtin_memcpy(v->raddr + 12, &in->sin_addr, 4);
	v->rport = bpf_ntohs(in->sin_port);
}

union address {
	u16 family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

// The address that a program passed, which the kernel has just read, so its page is in memory. The
// path of a unix socket goes to `names` as it is; its address is the family (2 bytes) and up to
// 108 bytes, not always with a NUL.
static __always_inline void address_given(struct touch *v, const struct touch_key *k, u64 user, u64 len)
{
	union address a = {};

	if (!user || bpf_probe_read_user(&a, sizeof a.family, (void *)user))
		return;
	if (a.family == AF_INET) {
		if (!bpf_probe_read_user(&a, sizeof a.in, (void *)user))
			address_in(v, &a.in);
	} else if (a.family == AF_INET6) {
		if (!bpf_probe_read_user(&a, sizeof a.in6, (void *)user)) {
			__builtin_memcpy(v->raddr, a.in6.sin6_addr, 16);
			v->rport = bpf_ntohs(a.in6.sin6_port);
		}
	} else if (a.family == AF_UNIX && len > 2) {
		struct scratch *s = the_scratch();
		if (!s)
			return;
		u32 n = len - 2;
		if (n > 108) /* sun_path of uapi/linux/un.h */
			n = 108;
		barrier_var(n);
		n &= 127;
		s->name.cut = 0;
		s->name.len = n;
		if (!bpf_probe_read_user(s->name.b, n, (void *)user + 2))
			v->named = !bpf_map_update_elem(&names, k, &s->name, BPF_ANY);
	}
}

// What a socket says of itself. If the socket is connected, this replaces the address that the
// program passed.
static __always_inline void address_of(struct touch *v, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	if (!sk)
		return;
	v->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (v->family == AF_UNIX) {
		v->peer = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
	} else if (v->family == AF_INET || v->family == AF_INET6) {
		v->protocol = BPF_CORE_READ(sk, sk_protocol);
		v->lport = BPF_CORE_READ(sk, __sk_common.skc_num);
		u16 port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
		if (!port)
			return; /* not connected: what was given stays */
		v->rport = port;
		if (v->family == AF_INET6) {
			if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) /* CONFIG_IPV6 */
				BPF_CORE_READ_INTO(&v->raddr, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
		} else {
			struct sockaddr_in in = { .sin_port = bpf_htons(port), .sin_addr = BPF_CORE_READ(sk, __sk_common.skc_daddr) };
			address_in(v, &in);
		}
	}
}

// Finds or makes the row of an open file; null for those without one, as eventfd, and if there is
// no room. Fills the key, which names and later uses need. Not inlined: it would be in the program
// many times.
static __attribute__((noinline)) struct touch *touch_of(struct task_struct *task, struct file *file, struct touch_key *k)
{
	if (!task || !file || !k)
		return 0;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 mode = BPF_CORE_READ(inode, i_mode);

	if (!(mode & S_IFMT))
		return 0;
	k->ino = BPF_CORE_READ(inode, i_ino);
	k->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	k->gen = BPF_CORE_READ(inode, i_generation);
	k->tgid = task->tgid;
	k->pad = 0;
	struct touch *v = bpf_map_lookup_elem(&touches, k);
	if (!v) {
		struct touch new = { .first = bpf_ktime_get_ns(), .mode = mode };
		if ((mode & S_IFMT) == S_IFSOCK)
			address_of(&new, file);
		bpf_map_update_elem(&touches, k, &new, 1 /* BPF_NOEXIST */);
		v = bpf_map_lookup_elem(&touches, k);
		if (!v) {
			lose(LOSS_FOOTPRINT);
			return 0;
		}
	}
	return v;
}

// The row of a descriptor. Its path is built at the first use, and again at later ones only if
// there was no room for it.
static __always_inline struct touch *touch_fd(struct task_struct *task, u32 fd, struct touch_key *k)
{
	struct file *file = file_at(task, fd);
	struct touch *v = file ? touch_of(task, file, k) : 0;

	if (!v || v->named)
		return v;
	u32 type = v->mode & S_IFMT;
	if (type != S_IFSOCK && type != S_IFIFO) /* those have no path */
		name_file(task, file, v, k);
	return v;
}

// Bytes read from or written to a descriptor; or an error, but for EAGAIN, which a non-blocking
// descriptor answers when there is nothing to do, and calls that are started again. `given` is an
// address that the call named, for a socket that is not connected.
static __always_inline void moved(struct task_struct *task, u32 fd, s64 bytes, bool write, u64 given)
{
	struct touch_key k;
	struct touch *v = touch_fd(task, fd, &k);

	if (!v)
		return;
	if (given && !v->rport)
		address_given(v, &k, given, sizeof(struct sockaddr_in6));
	if (bytes < 0) {
		if (bytes != -EAGAIN && bytes > -ERESTARTSYS)
			__sync_fetch_and_add(&v->errors, 1);
	} else if (write) {
		__sync_fetch_and_add(&v->writes, 1);
		__sync_fetch_and_add(&v->write_bytes, bytes);
	} else {
		__sync_fetch_and_add(&v->reads, 1);
		__sync_fetch_and_add(&v->read_bytes, bytes);
	}
}

#define MESSAGES 64 /* of one call whose bytes are added up */

// The bytes of the messages that a call sent or received. Global, so that the verifier
// looks at it once, with any arguments, and not in each place that calls it. recvmmsg and sendmmsg
// return the number of messages; the bytes are in each.
__attribute__((noinline)) u64 bytes_of(u64 messages, u64 n)
{
	u64 sum = 0;

	if (n > MESSAGES)
		lose(LOSS_FOOTPRINT);
	for (u32 i = 0; i < MESSAGES && i < n; i++) {
		u32 len = 0;
		bpf_probe_read_user(&len, sizeof len, (void *)messages + i * sizeof(struct mmsghdr) + __builtin_offsetof(struct mmsghdr, msg_len));
		sum += len; /* 0 if it could not be read */
	}
	return sum;
}

// The address in a message, null if it has none.
static __always_inline u64 named_in(u64 message)
{
	u64 name = 0;

	bpf_probe_read_user(&name, sizeof name, (void *)message); /* msg_name comes first */
	return name;
}

// Counts a path that could not be opened or executed, as the program gave it. The whole key is
// cleared first: the map compares all bytes, also those behind the NUL.
static __always_inline void missed(u32 tgid, s64 ret, u64 path)
{
	struct scratch *s = the_scratch();

	if (!s)
		return;
	__builtin_memset(&s->miss, 0, sizeof s->miss);
	s->miss.tgid = tgid;
	s->miss.err = -ret;
	if (bpf_probe_read_user_str(s->miss.path, MISS_ROOM, (void *)path) <= 0)
		return;
	u64 *n = bpf_map_lookup_elem(&misses, &s->miss), one = 1;
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (bpf_map_update_elem(&misses, &s->miss, &one, BPF_ANY))
		lose(LOSS_FOOTPRINT);
}

// A call that returned a new descriptor, or why there is none.
static __always_inline void opened(struct task_struct *task, s64 ret, u64 path)
{
	struct touch_key k;

	if (ret < 0) {
		if (ret > -ERESTARTSYS)
			missed(task->tgid, ret, path);
		return;
	}
	struct touch *v = touch_fd(task, ret, &k);
	if (v)
		__sync_fetch_and_add(&v->opens, 1);
}

// A socket that was connected, accepted or made to listen.
static __always_inline void joined(struct task_struct *task, u32 fd, s64 ret, u32 how, u64 given, u64 len)
{
	struct file *file = file_at(task, fd);
	struct touch_key k;
	struct touch *v = file ? touch_of(task, file, &k) : 0;

	if (!v || (v->mode & S_IFMT) != S_IFSOCK)
		return;
	v->how |= how;
	if (given)
		address_given(v, &k, given, len);
	address_of(v, file);
	if (ret >= 0 || ret == -EINPROGRESS)
		__sync_fetch_and_add(&v->opens, 1);
	else if (ret > -ERESTARTSYS)
		__sync_fetch_and_add(&v->errors, 1);
}

// Does what what_of[] says for a call that returned. `& 511` is for the verifier; the caller has
// compared the number already. A successful exec has other registers by now: only failed ones are
// looked at here, on_program has the others.
static __always_inline void touched(struct task_struct *task, struct pt_regs *r, u32 nr, s64 ret)
{
	u64 a1 = SYSCALL_ARG1(r), a2 = SYSCALL_ARG2(r);

	switch (what_of[nr & 511]) {
	case WHAT_READ:
		moved(task, a1, ret, 0, 0);
		break;
	case WHAT_WRITE:
		moved(task, a1, ret, 1, 0);
		break;
	case WHAT_SENDTO:
		moved(task, a1, ret, 1, SYSCALL_ARG5(r));
		break;
	case WHAT_SENDMSG:
		moved(task, a1, ret, 1, named_in(a2));
		break;
	case WHAT_SENDMMSG:
		moved(task, a1, ret < 0 ? ret : (s64)bytes_of(a2, ret), 1, named_in(a2));
		break;
	case WHAT_RECVMMSG:
		moved(task, a1, ret < 0 ? ret : (s64)bytes_of(a2, ret), 0, 0);
		break;
	case WHAT_SENDFILE:
		moved(task, a1, ret, 1, 0);
		moved(task, a2, ret, 0, 0);
		break;
	case WHAT_SPLICE:
		moved(task, a1, ret, 0, 0);
		moved(task, SYSCALL_ARG3(r), ret, 1, 0);
		break;
	case WHAT_OPEN:
		opened(task, ret, a1);
		break;
	case WHAT_OPENAT:
		opened(task, ret, a2);
		break;
	case WHAT_CONNECT:
		joined(task, a1, ret, HOW_CONNECT, a2, SYSCALL_ARG3(r));
		break;
	case WHAT_ACCEPT:
		if (ret >= 0)
			joined(task, ret, ret, HOW_ACCEPT, 0, 0);
		break;
	case WHAT_LISTEN:
		joined(task, a1, ret, HOW_LISTEN, 0, 0);
		break;
	case WHAT_EXEC:
		if (ret < 0 && ret > -ERESTARTSYS)
			missed(task->tgid, ret, a1);
		break;
	case WHAT_EXECAT:
		if (ret < 0 && ret > -ERESTARTSYS)
			missed(task->tgid, ret, a2);
		break;
	}
}

#endif
