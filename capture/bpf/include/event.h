/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The wire contract between the BPF programs and user space: version 1.
 *
 * Every record starts with struct hdr. Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns),
 * durations nanoseconds, process and thread ids those of the initial PID namespace. Records are
 * little-endian, 8-byte aligned, without implicit padding. package bpf mirrors the structs in Go;
 * a test compares the BTF of every object with that mirror. capture/probe/decode.go and its
 * siblings read the records, and convert the times to Unix time.
 *
 * The length of a record says which of two forms it has: the longer form begins with
 * the shorter one. A record that the decoder does not know is counted as malformed.
 */
#ifndef INGERO_EVENT_H
#define INGERO_EVENT_H

/* Where a thread's off-CPU time went. The order is event.Class; append only. */
enum class {
	CLASS_RUNQ,      /* runnable, another task had the CPU */
	CLASS_THROTTLED, /* runnable, its control group had used up its CPU quota */
	/* blocked in: */
	CLASS_FUTEX, /* a futex: mutex, condition variable, the GIL */
	CLASS_BLKIO, /* a block device or a file system */
	CLASS_FAULT, /* a page fault that does no I/O, as for the lock of the address space */
	CLASS_NET,   /* a call on a socket */
	CLASS_PIPE,  /* a pipe, an eventfd, a System V or POSIX queue */
	CLASS_POLL,  /* poll, select, epoll */
	CLASS_SLEEP, /* nanosleep, pause: it wanted to */
	CLASS_IOCTL, /* ioctl: how drivers of GPUs wait */
	CLASS_OTHER, /* anything else */
	NCLASS,
};

/*
 * What class_of[] may hold besides a class: decide by the type of the file behind the
 * first argument, or use block I/O if the task sleeps uninterruptibly. The table is made
 * in capture/probe/sched/classes.go, because numbers of system calls depend on the architecture.
 */
#define CLASS_BY_FD 32
#define CLASS_BY_FILE 33

/* hdr.kind. Numbers are for one run of the tracer only: they are not stored. */
enum kind {
	KIND_CALL = 1, /* struct call_rec, or struct call_led_rec if longer */
	KIND_GAP,      /* struct gap_rec */
	KIND_OFF,      /* struct off_rec, or struct off_full_rec if longer */
	KIND_TOTAL,    /* struct total_rec */
	KIND_LIFE,     /* struct life_rec; hdr.sub is enum life */
	KIND_STACK,    /* struct stack_rec, before the call or sample it belongs to; hdr.sub is enum stack_of */
	KIND_STALL,    /* struct stall_rec; hdr.tid is the CPU */
	KIND_RECLAIM,  /* struct reclaim_rec; hdr.sub is enum reclaim */
	KIND_SOCK,     /* struct sock_rec, before the interval it belongs to */
	KIND_PYCODE,   /* struct pycode_rec, before the stacks it is in */
	KIND_PYSTACK,  /* struct pystack_rec, before the stack and the call it belongs to */
	KIND_NAME,     /* struct name_rec, or struct name_long_rec if longer; hdr.sub is enum name */
	KIND_REQUEST,  /* struct request_rec; hdr.sub is event.RequestFlags */
	KIND_TCP,      /* struct tcp_rec; hdr.sub is the state of the connection */
	KIND_MARK,     /* struct mark_rec; hdr.op is the function */
	KIND_CODE,     /* struct code_rec, after its stack; hdr.sub is enum stack_of */
};

/* event.LifeKind */
enum life { LIFE_FORK = 1, LIFE_EXEC, LIFE_EXIT, LIFE_FIRST, LIFE_UNFINISHED, LIFE_OOM };

/* hdr.sub of a stack and of a code_rec. */
enum stack_of {
	STACK_OF_CALL,
	STACK_OF_CODE, /* of a thread on a CPU */
	STACK_OF_WAIT, /* of one that goes to sleep */
};

/* event.ReclaimKind */
enum reclaim { RECLAIM_DIRECT = 1, RECLAIM_MEMCG, RECLAIM_COMPACT };

/* probe.NameKind: how a kernel's name was found. */
enum name {
	NAME_REGISTERED = 1, /* __cudaRegisterFunction: func is a host function, from where its name is */
	NAME_LOADED,         /* cuModuleGetFunction, cuLibraryGetKernel: func is the handle, from where its name is */
	NAME_SAME,           /* cuKernelGetFunction: func has the name of the kernel `from` */
};

/*
 * Slots of the loss counters: event.LossKind; append only. "Full" is the ring into which
 * the record belongs. Losses are stored in the recording and reported, with what
 * they mean for it (event/loss.go).
 */
enum loss {
	LOSS_CALL,        /* full */
	LOSS_GAP,         /* full */
	LOSS_OFF,         /* full */
	LOSS_TOTAL,       /* full; the next total of the thread makes up for it */
	LOSS_LIFE,        /* full */
	LOSS_STACK,       /* ring half full, over the quota, or no memory for Python frames */
	LOSS_NESTED,      /* call deeper than DEPTH: not recorded */
	LOSS_THREAD,      /* no memory for a thread's state */
	LOSS_UNMATCHED,   /* return without an entry, as of a call that is older than the probe */
	LOSS_UNFINISHED,  /* call that was left by longjmp or an exception */
	LOSS_SWITCH,      /* another task leaves a CPU than came to it last */
	LOSS_HEALED,      /* interval rebuilt from the scheduler's clock */
	LOSS_WAKE,        /* wake-up not seen: the interval has no run-queue part */
	LOSS_OFF_THINNED, /* interval over the thread's rate limit; its ledger has the time */
	LOSS_STALL,       /* full */
	LOSS_RECLAIM = LOSS_STALL + 3, /* two in between are counted in user space */
	LOSS_SOCK,            /* full */
	LOSS_NAME,            /* full */
	LOSS_COMM,            /* table of communicators full: a collective has no number */
	LOSS_REQUEST,         /* full, or too many requests in flight */
	LOSS_REQUEST_THINNED, /* over the CPU's rate limit; the sums have it */
	LOSS_TCP,             /* full, or over the CPU's rate limit */
	LOSS_FOOTPRINT,       /* a table of the footprint is full */
	LOSS_PAGES,           /* allocation of a process for which there is no room */
	LOSS_MARK = LOSS_PAGES + 5, /* those in between are counted in user space */
	LOSS_CODE = LOSS_MARK + 2,  /* sample of code: ring half full, or no memory for Python frames */
	NLOSS = 33,
};

/* thr.role: one of the first two, and perhaps ROLE_DISPATCH. 0: not accounted for. */
#define ROLE_TRACED 1   /* of a traced process */
#define ROLE_FOLLOWED 2 /* accounted for because it woke a traced thread */
#define ROLE_MASK 3
#define ROLE_DISPATCH 4 /* has made traced calls */

#define DEPTH 8 /* nested calls followed; a power of two */
#define NARGS 4 /* arguments recorded of a call, and of a mark; event.NumArgs */
#define NCULPRIT 4 /* tasks named that ran meanwhile; further ones are left out */
#define NKSTACK 14 /* frames of a kernel stack, the innermost */
#define NCODE 24   /* the same of a thread that was interrupted, with those of the interrupt */
#define NSAVED 11        /* callee-saved registers: arm64 has most */
#define STACK_PAGE 4096  /* bytes that are read of a user stack at a time */
#define STACK_NEAR 96    /* pages that are copied from the stack pointer up, at most */
#define STACK_FAR 32     /* and of a stack that is larger, from its beginning down */
#define COMM_LEN 16   /* TASK_COMM_LEN: 15 characters and a NUL */
#define NAME_SHORT 200 /* bytes: the record has 240 then */
#define NAME_MORE 3856 /* bytes: a long record is one page of 4 KiB */
#define MARK_TEXT 128 /* bytes of a text: 32 wide characters */

/* tid is the thread that the record is about: not always the one that ran the program. */
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

/*
 * A call that returned, written at its return. The meaning of the arguments depends on the
 * operation: event/catalog.go and its siblings. 32-bit arguments have undefined upper halves here;
 * the decoder masks them.
 */
struct call_rec {
	struct hdr h;
	u64 dur;
	u32 tgid;
	s32 ret; /* cudaError_t, CUresult, ncclResult_t: 0 is success */
	u64 arg[NARGS];
};

/* Written instead of call_rec if a context switch happened in the call. */
struct call_led_rec {
	struct call_rec c;
	struct led l;
};

/*
 * The time between the return of a thread's outermost call and the entry of its next one.
 * Written only if a context switch fell into it: else the thread just ran.
 */
struct gap_rec {
	struct hdr h;
	u64 dur;
	u32 tgid;
	u32 pad;
	struct led l;
};

/* A task that ran while the thread was runnable on that CPU. born: see born_of in thread.h. */
struct culprit {
	u32 tgid, tid;
	u64 ns, born;
	char comm[COMM_LEN];
};

/*
 * An off-CPU interval; state is the kernel's task state at switch-out, the low 7 bits
 * (0 is runnable: preempted). h.start is the switch-out, h.op the call that it is in.
 * `holder` is what the memory of a lock claims: readers check that there is such
 * a thread. role is the sleeper's.
 */
struct off_rec {
	struct hdr h;
	u64 dur;
	u64 runq; /* its last part, in which the thread was runnable */
	u32 tgid;
	u32 holder;            /* tid in the futex word or mutex, 0 unknown */
	u32 waker, waker_tgid; /* 0 if no wake-up was seen */
	u64 uaddr, waker_uaddr; /* futex words of the sleeper and of its waker */
	u64 ino;               /* inode behind the descriptor read or written */
	u64 waker_born;        /* of its process: see born_of in thread.h */
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

/*
 * A thread's running totals in ns since it is accounted for. Two of them subtract to the
 * split of the time between, so that a dropped one costs resolution and no time. Written at
 * switch-outs, at most every 100 ms (5 ms of a thread that others wait for), when a thread
 * wakes one that it has kept waiting, and at its end.
 */
struct total_rec {
	struct hdr h;
	u32 tgid, role;
	u64 oncpu;
	u64 v[NCLASS];
	u64 exec; /* the scheduler's own se.sum_exec_runtime */
	u64 born; /* of its process: see born_of in thread.h */
	u64 kernel; /* the kernel's own task->stime */
	char comm[COMM_LEN];
};

/* A birth, an end, a program executed, a first call. In the ring `lives`, or oom_ring. */
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

/*
 * What a thread ran when a timer interrupted it. hdr.start is the time, hdr.op the call that it is in. Its user
 * stack, if one could be copied, comes before and has the same thread and start.
 */
struct code_rec {
	struct hdr h;
	u32 tgid;
	s16 nr;     /* system call, -1 outside of one */
	u8 role, pad;
	s32 nstack; /* bytes of stack used, negative errno; 0 of a wait */
	u32 pad2;
	u64 stack[NCODE]; /* kernel stack, with the interrupt's own frames, innermost first */
	char comm[COMM_LEN];
};

/*
 * A span in which a CPU did not even take its timer interrupts: a hypervisor ran another
 * guest on it, or the kernel had interrupts disabled.
 */
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

/* A call that a thread is in. The fields are those of struct frame. */
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
	u64 silent;       /* since when it has made no call, if that is long and it makes calls else; 0 */
	u64 uaddr, ino;
	u64 sysarg;       /* the first argument of the system call it is in */
	s16 nr;           /* system call it is in, -1 if in none or if it runs */
	u8 class, state;  /* of the wait; the kernel's task state now */
	u8 gpu, role;
	u8 pad[2];
	u64 v[NCLASS];    /* ns off the CPU since the outermost call, or silent, without the wait in progress */
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

/*
 * A request to a block device that completed. hdr.op is one of event.OpBlock….
 * ino is 0 if the request is not from the page cache of a file, status the kernel's
 * blk_status_t, or before 5.16 an errno; 0 is success.
 */
struct request_rec {
	struct hdr h; /* start: when it was made; tid of the thread that caused it */
	u64 dur, queue; /* queue: the part of dur before the device had it */
	u64 sector, ino;
	u32 tgid, dev, bytes;
	u32 by; /* the kernel's thread that made it for tid, 0 none */
	u8 status, pad[7];
	char comm[COMM_LEN];
};

/*
 * What a process did at a device in a second of CLOCK_MONOTONIC. Not in a ring: a map, which
 * capture/probe/blockio/sums.go empties. Times are sums in ns, max is the longest request.
 */
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
	u32 bytes, retrans; /* of the segment; segments of the connection sent again so far */
	u32 rtt, min_rtt;   /* us: smoothed; smallest of the recent past, 0 none yet */
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

/* A change of a record is meant to fail here first: the mirror in Go has to change with it. */
_Static_assert(sizeof(struct hdr) == 16, "hdr");
_Static_assert(sizeof(struct led) == 48, "led");
_Static_assert(sizeof(struct call_rec) == 64, "call_rec");
_Static_assert(sizeof(struct call_led_rec) == 112, "call_led_rec");
_Static_assert(sizeof(struct gap_rec) == 80, "gap_rec");
_Static_assert(sizeof(struct off_rec) == 128, "off_rec");
_Static_assert(sizeof(struct off_full_rec) == 128 + 8 + 4 * 40 + 8 + 112, "off_full_rec");
_Static_assert(sizeof(struct total_rec) == 160, "total_rec");
_Static_assert(sizeof(struct life_rec) == 56, "life_rec");
_Static_assert(sizeof(struct stack_rec) == 288, "stack_rec");
_Static_assert(sizeof(struct stall_rec) == 24, "stall_rec");
_Static_assert(sizeof(struct reclaim_rec) == 40, "reclaim_rec");
_Static_assert(sizeof(struct sock_rec) == 48, "sock_rec");
_Static_assert(sizeof(struct name_rec) == 240, "name_rec");
_Static_assert(sizeof(struct name_long_rec) == 4096, "name_long_rec");
_Static_assert(sizeof(struct flight_rec) == 1024, "flight_rec");
_Static_assert(sizeof(struct request_rec) == 88, "request_rec");
_Static_assert(sizeof(struct request_key) == 24, "request_key");
_Static_assert(sizeof(struct request_sum) == 64, "request_sum");
_Static_assert(sizeof(struct tcp_rec) == 112, "tcp_rec");
_Static_assert(sizeof(struct mark_rec) == 200, "mark_rec");

#endif
