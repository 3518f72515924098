/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The few kernel types the programs read, written by hand instead of generated
 * from one kernel: the loader relocates every field by name (CO-RE), and the
 * same source compiles for x86-64 and arm64. A vmlinux.h of one kernel has some
 * megabytes, and does not show which fields the programs depend on.
 *
 * A struct has only the fields that are read. Their order and the gaps between
 * them do not matter, their names and types do. A field that some supported
 * kernel lacks has to be guarded by bpf_core_field_exists: the loader replaces an
 * access to a missing field by an instruction that the verifier rejects where it
 * can be reached.
 */
#ifndef INGERO_KERNEL_H
#define INGERO_KERNEL_H
#define __VMLINUX_H__ /* bpf_tracing.h: register names as in the kernel's pt_regs */

#include <stdbool.h>
/* libbpf's headers expect these names from vmlinux.h. */
typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16, __be16;
typedef unsigned int u32, __u32, __be32, __wsum;
typedef unsigned long long u64, __u64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;

/*
 * Map types and flags are the kernel's interface to user space
 * (include/uapi/linux/bpf.h): their numbers never change, and need no relocation.
 */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
/* Required for task storage. A hash with it takes memory only for the entries that it has. */
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
/*
 * Every record is submitted with one of these. Without a flag the kernel wakes the
 * reader only if it has read everything before this record. A reader that waits for
 * wake-ups would never be woken again after a record without one. A wake-up costs the
 * thread that writes more than the record, so the reader drains on a timer instead
 * (capture/probe/ring.go).
 */
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

/* Macros are not in BTF: these are copied, each from the header that it names. */
#define PF_EXITING 0x00000004 /* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define AF_UNIX 1 /* include/linux/socket.h */
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6 /* include/uapi/linux/in.h */
#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFSOCK 0140000
#define S_IFIFO 0010000
#define S_IFCHR 0020000
#define EAGAIN 11 /* include/uapi/asm-generic/errno-base.h */
#define EINPROGRESS 115 /* include/uapi/asm-generic/errno.h */
#define ERESTARTSYS 512 /* include/linux/errno.h: not for programs */
#define ERESTART_RESTARTBLOCK 516
#define MAX_ERRNO 4095 /* include/linux/err.h */
#define FUTEX_LOCK_PI 6 /* include/uapi/linux/futex.h */
#define FUTEX_LOCK_PI2 13

/*
 * What programs pass to the kernel: read from the memory of programs, so the layout
 * is that of the system call interface and must not be relocated.
 */
struct sockaddr_in { /* include/uapi/linux/in.h */
	u16 sin_family;
	__be16 sin_port;
	__be32 sin_addr;
	u8 pad[8];
};
struct sockaddr_in6 { /* include/uapi/linux/in6.h */
	u16 sin6_family;
	__be16 sin6_port;
	__be32 sin6_flowinfo;
	u8 sin6_addr[16];
	u32 sin6_scope_id;
};
struct user_msghdr { /* include/linux/socket.h; pointers of programs */
	u64 msg_name;
	u32 msg_namelen, pad;
	u64 msg_iov, msg_iovlen, msg_control, msg_controllen;
	u32 msg_flags, pad2;
};
struct mmsghdr {
	struct user_msghdr msg_hdr;
	u32 msg_len, pad; /* bytes sent or received */
};

/* From here to the pop, every access to a field is relocated. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/*
 * A thread's registers when it entered the kernel. bpf_tracing.h reads arguments
 * from struct pt_regs on x86-64, and from struct user_pt_regs, which is its first
 * part, on arm64.
 */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31], sp, pc, pstate;
};
struct pt_regs {
	u64 regs[31], sp, pc, pstate;
	u64 orig_x0;
	s32 syscallno;
};
#endif

/* Files: which inode is behind a descriptor, and the path to it (touched.h). */
struct super_block {
	u32 s_dev;
};
struct inode {
	u16 i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
	u32 i_generation;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct fs_struct {
	struct path root;
};
/* Pages and block requests: which file a request is for (blockio.bpf.c). */
struct address_space {
	struct inode *host;
};
struct page {
	unsigned long compound_head; /* bit 0: of a later page, the rest is the first one's address */
	struct address_space *mapping; /* low bits set: not of a file */
};
struct bio_vec {
	struct page *bv_page;
};
struct bvec_iter {
	unsigned int bi_idx;
};
struct bio {
	struct bio_vec *bi_io_vec;
	struct bvec_iter bi_iter;
};
struct gendisk {
	int major, first_minor;
};
struct request_queue {
	struct gendisk *disk; /* from 5.15 */
};
struct request {
	struct request_queue *q;
	struct gendisk *rq_disk; /* to 5.16 */
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector, start_time_ns;
	struct bio *bio;
};
/* Sockets. Addresses and skc_dport are in network order, skc_num is in host order. */
struct file {
	struct inode *f_inode;
	void *private_data; /* struct socket * of a socket's file */
	struct path f_path;
};
struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};
struct sock_common {
	unsigned short skc_family;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct upid {
	int nr;
};
struct pid {
	struct upid numbers[1]; /* [0]: in the initial PID namespace */
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct pid *sk_peer_pid;
	struct socket *sk_socket;
	int sk_err;
};
struct inet_sock {
	__be16 inet_sport;
};
struct minmax_sample {
	u32 v;
};
struct minmax {
	struct minmax_sample s[3]; /* s[0]: the smallest of the recent past */
};
struct tcp_rack {
	u64 mstamp; /* when the segment that was acknowledged last was sent, us, monotonic clock */
	u32 rtt_us;
};
struct tcp_sock {
	u32 srtt_us, total_retrans; /* srtt_us: in 8ths */
	struct minmax rtt_min;
	struct tcp_rack rack;
};
struct sk_buff {
	unsigned int len;
};
struct unix_address;
struct unix_sock {
	struct unix_address *addr;
};
struct socket {
	struct sock *sk;
};
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
/* The scheduler's view of a task. */
struct cfs_rq {
	int throttle_count;
};
struct sched_entity {
	u64 sum_exec_runtime; /* ns on a CPU; of a running task it lags by up to a tick */
	struct cfs_rq *cfs_rq;
};
/* Where the kernel has put the trampoline of return probes: see returns.h. */
struct xol_area {
	unsigned long vaddr;
};
struct uprobes_state {
	struct xol_area *xol_area;
};
struct mm_struct {
	unsigned long start_stack, arg_start, arg_end;
	struct uprobes_state uprobes_state;
};
/* The user-space thread pointer, as of the last switch. C libraries set it once for each thread. */
#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#define THREAD_POINTER thread.fsbase
#else
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#define THREAD_POINTER thread.uw.tp_value
#endif
struct bpf_local_storage;
/* A probed function that has been entered: its return address. */
struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next; /* the one that called it */
};
struct uprobe_task {
	struct return_instance *return_instances; /* innermost first */
};
struct task_struct {
	unsigned int flags, __state; /* __state: 0 runnable; the name is from 5.14 on */
	int pid, tgid;
	struct thread_struct thread;
	unsigned in_iowait : 1;
	bool throttled; /* from 6.18: this task waits for quota */
	struct sched_entity se;
	struct files_struct *files;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct bpf_local_storage *bpf_storage; /* null for a task without any */
	struct uprobe_task *utask;
	struct task_struct *group_leader;
	u64 start_boottime;
	u64 stime; /* ns in the kernel, by timer ticks */
	char comm[16];
};
/* A timer, for stalls of CPUs (sched.bpf.c). */
struct timerqueue_node {
	s64 expires;
};
struct hrtimer {
	struct timerqueue_node node; /* expires: ns of the timer's clock base */
	u8 is_soft;
};
/* The context of a program of the task iterator. */
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct linux_binprm {
	const char *filename;
};

enum pageflags { PG_swapcache, PG_swapbacked }; /* the numbers are the running kernel's */

#pragma clang attribute pop

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/*
 * System call number and arguments in a task's saved registers. They are valid for
 * the whole call, also for a sleeping thread seen from another CPU, so that no
 * tracepoint of system calls is needed. The number is negative if the thread
 * entered the kernel by an exception or an interrupt. On arm64 the first argument
 * is read from orig_x0, because x0 has the result when the call returns.
 */
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NR(r) ((int)(r)->orig_ax)
#define NR_FUTEX 202
#define NR_URETPROBE 335 /* what a probed function returns to: the programs of return probes run in it */
#define SYSCALL_ARG1(r) ((r)->di)
#define SYSCALL_ARG2(r) ((r)->si)
#define SYSCALL_ARG3(r) ((r)->dx)
#define SYSCALL_ARG5(r) ((r)->r8)
#define RETURN_POP 8 /* bytes a return takes off the stack */
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL_NR(r) ((r)->syscallno)
#define NR_FUTEX 98
#define NR_URETPROBE -2 /* there is none */
#define SYSCALL_ARG1(r) ((r)->orig_x0)
#define SYSCALL_ARG2(r) ((r)->regs[1])
#define SYSCALL_ARG3(r) ((r)->regs[2])
#define SYSCALL_ARG5(r) ((r)->regs[4])
#define RETURN_POP 0
/* A register of the interrupted program. */
#define AREG(c, n) (((const volatile struct user_pt_regs *)(c))->regs[n])
#endif

#endif
