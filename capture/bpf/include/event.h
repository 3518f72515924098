/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The wire contract between the BPF programs and user space: version 1.
 *
 * Every record starts with struct hdr. Times are CLOCK_MONOTONIC nanoseconds
 * (bpf_ktime_get_ns), durations nanoseconds, process and thread ids those of
 * the initial PID namespace. Records are little-endian, 8-byte aligned, without
 * implicit padding. package bpf mirrors the structs in Go; a test compares the
 * BTF of every object with that mirror.
 */
#ifndef INGERO_EVENT_H
#define INGERO_EVENT_H

/* Where a thread's off-CPU time went. The order is event.Class; append only. */
enum class {
	CLASS_RUNQ,
	CLASS_THROTTLED,
	CLASS_FUTEX,
	CLASS_BLKIO,
	CLASS_FAULT,
	CLASS_NET,
	CLASS_PIPE,
	CLASS_POLL,
	CLASS_SLEEP,
	CLASS_IOCTL,
	CLASS_OTHER,
	NCLASS,
};

/*
 * What class_of[] may hold besides a class: decide by the type of the file behind the
 * first argument, or use block I/O if the task sleeps uninterruptibly.
 */
#define CLASS_BY_FD 32
#define CLASS_BY_FILE 33

enum kind {
	KIND_CALL = 1, /* struct call_rec, or struct call_led_rec if longer */
	KIND_GAP,      /* struct gap_rec */
	KIND_OFF,      /* struct off_rec, or struct off_full_rec if longer */
	KIND_TOTAL,    /* struct total_rec */
	KIND_LIFE,     /* struct life_rec; hdr.sub is enum life */
	KIND_STACK,    /* struct stack_rec, before the call it belongs to */
	KIND_STALL,    /* struct stall_rec; hdr.tid is the CPU */
	KIND_RECLAIM,  /* struct reclaim_rec; hdr.sub is enum reclaim */
	KIND_SOCK,     /* struct sock_rec, before the interval it belongs to */
	KIND_PYCODE,   /* struct pycode_rec, before the stacks it is in */
	KIND_PYSTACK,  /* struct pystack_rec, before the stack and the call it belongs to */
	KIND_NAME,     /* struct name_rec, or struct name_long_rec if longer; hdr.sub is enum name */
	KIND_REQUEST,  /* struct request_rec; hdr.sub is event.RequestFlags */
	KIND_TCP,      /* struct tcp_rec; hdr.sub is the state of the connection */
	KIND_MARK,     /* struct mark_rec; hdr.op is the function */
};

/* event.LifeKind */
enum life { LIFE_FORK = 1, LIFE_EXEC, LIFE_EXIT, LIFE_FIRST, LIFE_UNFINISHED, LIFE_OOM };

/* event.ReclaimKind */
enum reclaim { RECLAIM_DIRECT = 1, RECLAIM_MEMCG, RECLAIM_COMPACT };

/* probe.NameKind: how a kernel's name was found. */
enum name {
	NAME_REGISTERED = 1, /* __cudaRegisterFunction: func is a host function, from where its name is */
	NAME_LOADED,         /* cuModuleGetFunction, cuLibraryGetKernel: func is the handle, from where its name is */
	NAME_SAME,           /* cuKernelGetFunction: func has the name of the kernel `from` */
};

/* Slots of the loss counters: event.LossKind; append only. */
enum loss {
	LOSS_CALL,
	LOSS_GAP,
	LOSS_OFF,
	LOSS_TOTAL,
	LOSS_LIFE,
	LOSS_STACK,
	LOSS_NESTED,
	LOSS_THREAD,
	LOSS_UNMATCHED,
	LOSS_UNFINISHED,
	LOSS_SWITCH,
	LOSS_HEALED,
	LOSS_WAKE,
	LOSS_OFF_THINNED,
	LOSS_STALL,
	LOSS_RECLAIM = LOSS_STALL + 3, /* two in between are counted in user space */
	LOSS_SOCK,
	LOSS_NAME,
	LOSS_COMM,
	LOSS_REQUEST,
	LOSS_REQUEST_THINNED,
	LOSS_TCP,
	LOSS_FOOTPRINT,
	LOSS_PAGES,
	LOSS_MARK = LOSS_PAGES + 5, /* those in between are counted in user space */
	NLOSS = 32,
};

#define ROLE_TRACED 1   /* of a traced process */
#define ROLE_FOLLOWED 2 /* accounted for because it woke a traced thread */
#define ROLE_MASK 3
#define ROLE_DISPATCH 4 /* has made traced calls */

#define DEPTH 8 /* nested calls followed; a power of two */
#define NARGS 4
#define NCULPRIT 4
#define NKSTACK 14
#define NSAVED 11        /* callee-saved registers: arm64 has most */
#define STACK_PAGE 4096  /* bytes that are read of a user stack at a time */
#define STACK_NEAR 96    /* pages that are copied from the stack pointer up, at most */
#define STACK_FAR 32     /* and of a stack that is larger, from its beginning down */
#define COMM_LEN 16
#define NAME_SHORT 200
#define NAME_MORE 3856
#define MARK_TEXT 128 /* bytes of a text: 32 wide characters */

struct hdr {
	u64 start; /* of the call, gap or interval; of the event otherwise */
	u32 tid;
	u16 op;  /* event.Op; KIND_GAP: the call that ended it; 0: between calls */
	u8 kind; /* enum kind */
	u8 sub;  /* calls: depth | (device + 1) << 3, device 31 and up wrap; intervals: enum class */
};

/* A ledger in 16 ns units; an entry saturates at 68 s. */
struct led {
	u32 v[NCLASS];
	u16 voluntary, involuntary;
};

struct call_rec {
	struct hdr h;
	u64 dur;
	u32 tgid;
	s32 ret;
	u64 arg[NARGS];
};

/* Written instead of call_rec if a context switch happened in the call. */
struct call_led_rec {
	struct call_rec c;
	struct led l;
};

struct gap_rec {
	struct hdr h;
	u64 dur;
	u32 tgid;
	u32 pad;
	struct led l;
};

/* A task that ran while the thread was runnable on that CPU. */
struct culprit {
	u32 tgid, tid;
	u64 ns;
	char comm[COMM_LEN];
};

/* An off-CPU interval; state is the kernel's task state at switch-out. */
struct off_rec {
	struct hdr h;
	u64 dur;
	u64 runq; /* its last part, in which the thread was runnable */
	u32 tgid;
	u32 holder;            /* tid in the futex word or mutex, 0 unknown */
	u32 waker, waker_tgid; /* 0 if no wake-up was seen */
	u64 uaddr, waker_uaddr; /* futex words of the sleeper and of its waker */
	u64 ino;               /* inode behind the descriptor read or written */
	s16 nr, waker_nr;      /* system calls, -1 outside of one */
	u16 out_cpu, in_cpu;
	u8 state, role;
	u8 pad[6];
	char comm[COMM_LEN], waker_comm[COMM_LEN];
};

/* Written instead of off_rec for intervals that need an explanation. */
struct off_full_rec {
	struct off_rec o;
	u64 idle; /* part of runq in which the CPU was idle */
	struct culprit culprit[NCULPRIT];
	s32 nstack; /* bytes of stack used, negative errno */
	u32 pad;
	u64 stack[NKSTACK]; /* kernel stack, innermost first */
};

struct total_rec {
	struct hdr h;
	u32 tgid, role;
	u64 oncpu;
	u64 v[NCLASS];
	u64 exec; /* the scheduler's own se.sum_exec_runtime */
	char comm[COMM_LEN];
};

struct life_rec {
	struct hdr h;
	u32 tgid;
	u32 ptid, ptgid; /* LIFE_FORK: the creator; LIFE_OOM: the task that asked for memory */
	u32 pad;
	u64 dur; /* LIFE_UNFINISHED: since the call began */
	char comm[COMM_LEN];
};

#define NRETURN 8 /* probed functions whose return address is reported */

/* Where a probed function really returns to: its stack has the trampoline instead. */
struct return_addr {
	u64 at; /* the stack pointer at its entry */
	u64 to;
};

/* The return addresses that the kernel replaced in a thread's stack. */
struct returns {
	u64 tramp; /* what is there instead, 0 unknown or not needed */
	struct return_addr ret[NRETURN]; /* innermost first; at is 0 after the last */
};

/*
 * The registers after a call returned, followed by a copy of the user stack. The
 * record may be longer than that. If `far` is 0, the copy is the bytes from sp up.
 * Else it is pages of STACK_PAGE bytes: STACK_NEAR of them from the page of sp,
 * the others from `far` up. Some may not have been readable, for example pages of a
 * large local array that were never used.
 */
struct stack_rec {
	struct hdr h;
	u32 tgid;
	u32 len; /* bytes of stack */
	u64 pc, sp;
	u64 reg[NSAVED]; /* x86-64: rbx, rbp, r12 to r15; arm64: x19 to x29 */
	u64 far;
	u64 pages[(STACK_NEAR + STACK_FAR) / 64]; /* bit n % 64 of [n / 64]: page n could be read */
	struct returns returns; /* of functions that the call was made in */
};

/* A span in which a CPU did not even take its timer interrupts. */
struct stall_rec {
	struct hdr h;
	u64 dur;
};

/*
 * A span in which a thread reclaimed or compacted memory, because it needed some.
 * Reclaims that follow each other within a millisecond are one record.
 */
struct reclaim_rec {
	struct hdr h;
	u64 dur;
	u64 ns;  /* of dur, in reclaim; the rest is between its parts */
	u32 tgid, parts;
};

#define SOCK_TCP 1
#define SOCK_UNIX 2
#define SOCK_OTHER 3

/* The socket that an interval of CLASS_NET waited for. Ports in host order. */
struct sock_rec {
	struct hdr h; /* sub: SOCK_TCP, … */
	u32 tgid;
	u32 peer;    /* SOCK_UNIX: process at the other end when it was connected, 0 if unknown */
	u16 lport, rport;
	u8 bound;    /* SOCK_UNIX: has an address of its own, as an accepted one */
	u8 pad[3];
	u8 raddr[16]; /* of the other end; IPv4 mapped into IPv6 */
};

/* The name of a kernel in the process of thread hdr.tid. Without a text it ends before name. */
struct name_rec {
	struct hdr h;
	u64 func, from;
	u32 tgid;
	s32 len; /* of the name with its NUL, negative errno if it could not be read */
	char name[NAME_SHORT];
};

/* Written instead of name_rec for a name that is longer; cut off if longer still. */
struct name_long_rec {
	struct name_rec n;
	char more[NAME_MORE];
};

/* A call that a thread is in. */
struct flight_call {
	u64 start, sp; /* sp: at its entry */
	u64 arg[NARGS];
	u32 op, pad;
};

/*
 * A thread in a call that has not returned for a while, or a thread that was requested
 * because it holds what such a call waits for. Not in a ring: the task iterator of
 * capture/probe/inflight writes these. hdr.start is the time of observation, hdr.op the
 * outermost operation, hdr.sub the number of nested calls.
 */
struct flight_rec {
	struct hdr h;
	u32 tgid, holder; /* holder: as in off_rec */
	u64 out, wake;    /* since when it is off the CPU, 0 if it runs; the wake-up after it */
	u64 in;           /* since when it runs, if it does */
	u64 uaddr, ino;
	u64 sysarg;       /* the first argument of the system call it is in */
	s16 nr;           /* system call it is in, -1 if in none or if it runs */
	u8 class, state;  /* of the wait; the kernel's task state now */
	u8 gpu, role;
	u8 pad[2];
	u64 v[NCLASS];    /* ns off the CPU since the outermost call began, the wait in progress left out */
	u64 exec;         /* se.sum_exec_runtime */
	u64 pc, sp;       /* of user space, when it last entered the kernel */
	u64 reg[NSAVED];
	u64 start_stack, thread_pointer; /* where its stack begins; see stack_depth of ustack.h */
	struct returns returns;
	struct flight_call call[DEPTH];    /* outermost first */
	s32 nstack;       /* bytes of stack used, negative errno */
	u32 pad2;
	u64 stack[NKSTACK];
	char comm[COMM_LEN];
};

/* A request to a block device that completed. hdr.op is one of event.OpBlock…. */
struct request_rec {
	struct hdr h; /* start: when it was made; tid of the thread that caused it */
	u64 dur, queue; /* queue: the part of dur before the device had it */
	u64 sector, ino;
	u32 tgid, dev, bytes;
	u32 by; /* the kernel's thread that made it for tid, 0 none */
	u8 status, pad[7];
	char comm[COMM_LEN];
};

/* What a process did at a device in a second of CLOCK_MONOTONIC. */
struct request_key {
	u64 second;
	u32 tgid, dev;
	u32 op, pad;
};
struct request_sum {
	u64 requests, errors, bytes, queue, device, max;
	char comm[COMM_LEN];
};

/* An event of a TCP connection. hdr.op is one of event.OpTCP…. */
struct tcp_rec {
	struct hdr h;
	u64 dur; /* of a failed connect; the round trip of a spike */
	u64 ino;
	u32 tgid; /* 0 unknown, as is hdr.tid */
	s32 error;
	u32 bytes, retrans; /* of the segment; sent again so far */
	u32 rtt, min_rtt;   /* us */
	u16 lport, rport;
	u8 pad[4];
	u8 laddr[16], raddr[16]; /* IPv4 mapped into IPv6 */
	char comm[COMM_LEN];
};

/* What the message of a mark is. */
enum mark_form { MARK_NONE, MARK_ASCII, MARK_WIDE, MARK_HANDLE };

/* A call by which a program marks a moment, or the begin or end of a range. hdr.sub is enum mark_form. */
struct mark_rec {
	struct hdr h;
	u64 dur;
	u32 tgid;
	s32 len; /* bytes of text with its NUL, negative errno if it could not be read */
	u64 domain;
	u64 id;       /* of a range, where it is passed */
	u64 answer;   /* what the function returned: an id, a level or, of one that returns nothing, anything */
	u64 message;  /* where the text is, or a handle */
	u32 category;
	u32 pad;
	char text[MARK_TEXT];
};

#include "python_rec.h"

_Static_assert(sizeof(struct hdr) == 16, "hdr");
_Static_assert(sizeof(struct led) == 48, "led");
_Static_assert(sizeof(struct call_rec) == 64, "call_rec");
_Static_assert(sizeof(struct call_led_rec) == 112, "call_led_rec");
_Static_assert(sizeof(struct gap_rec) == 80, "gap_rec");
_Static_assert(sizeof(struct off_rec) == 120, "off_rec");
_Static_assert(sizeof(struct off_full_rec) == 120 + 8 + 4 * 32 + 8 + 112, "off_full_rec");
_Static_assert(sizeof(struct total_rec) == 144, "total_rec");
_Static_assert(sizeof(struct life_rec) == 56, "life_rec");
_Static_assert(sizeof(struct stack_rec) == 288, "stack_rec");
_Static_assert(sizeof(struct stall_rec) == 24, "stall_rec");
_Static_assert(sizeof(struct reclaim_rec) == 40, "reclaim_rec");
_Static_assert(sizeof(struct sock_rec) == 48, "sock_rec");
_Static_assert(sizeof(struct name_rec) == 240, "name_rec");
_Static_assert(sizeof(struct name_long_rec) == 4096, "name_long_rec");
_Static_assert(sizeof(struct flight_rec) == 1016, "flight_rec");
_Static_assert(sizeof(struct request_rec) == 88, "request_rec");
_Static_assert(sizeof(struct request_key) == 24, "request_key");
_Static_assert(sizeof(struct request_sum) == 64, "request_sum");
_Static_assert(sizeof(struct tcp_rec) == 112, "tcp_rec");
_Static_assert(sizeof(struct mark_rec) == 200, "mark_rec");

#endif
