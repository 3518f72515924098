/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * State shared by the call and scheduler programs: one struct thr a thread, the
 * rings, the loss counters, and the book-keeping of the ledger.
 *
 * Having task storage is the filter: a thread is accounted for if, and only if,
 * it has a struct thr. Storage is made at a first traced call, at fork, by the
 * task iterator, and for a thread that wakes a traced one; never inside
 * sched_switch, where it would allocate under the run-queue lock.
 *
 * Totals move only at switch-in, and where a wait on the CPU is seen (spin.h);
 * seq counts both. So one comparison of seq shows that nothing has to be
 * copied or reported.
 *
 * Who writes a struct thr: programs that run in the thread itself, sched_switch on the
 * CPU that it leaves or comes to, a timer on the CPU where it runs, and sched_waking on
 * the CPU of the waker. The first three never run on two CPUs at once for one thread; a
 * timer, and a switch where programs can be preempted, may come in the middle of one in
 * the thread. Only the waker is on another CPU, so what it stamps (t_wake, waker…,
 * queued) may change at any moment: readers compare t_wake with t_out. There is
 * no lock. Of the task iterators one sets `role` (adopt), the others only read.
 *
 * The object of the scheduler makes the maps; the loader (capture/probe/load.go) gives
 * them to all other objects by name.
 */
#ifndef INGERO_THREAD_H
#define INGERO_THREAD_H
#include "kernel.h"
#include "event.h"
#include "ops.h"

/* A wake-up at most this long before the switch-out raced with it on another CPU. */
#define EARLY_NS 50000

/*
 * Copy of a thread's totals, for the ledger of what comes after it. With the same
 * seq as the thread it is still right, however old it is: snapshot() then copies
 * nothing, which is the usual case for calls that follow each other on the CPU.
 */
struct snap {
	u32 seq, involuntary, spins, pad; /* spins: the part of seq that is not switch-ins */
	u64 v[NCLASS];
};

/*
 * A call in progress. start is ns of CLOCK_MONOTONIC, sp the stack pointer at entry,
 * by which the return finds its frame: of calls in progress only a function and one
 * that it tail-calls share it, and these return together.
 */
struct frame {
	u64 start, sp, out; /* out: where the callee stores its result, if wanted */
	u64 arg[NARGS];
	u64 cookie; /* op | shape << 16 | flags << 24 */
	struct snap s;
};

/*
 * All of a thread. In task storage instead of a hash, because the look-up is faster,
 * and because it ends with the task: a reused thread id never finds the state
 * of an earlier thread. It takes 1,776 bytes for each thread.
 *
 * Fields that every call reads come first, so that they share a cache line with the 8 or
 * 16 bytes that the kernel puts before them; and the first frame begins a cache line.
 */
struct thr {
	u32 seq, depth; /* depth: frames in use, DEPTH at most */
	u64 t_out;      /* off the CPU since then, 0 if it runs */
	u64 spin_from;  /* the wait on the CPU in progress began, 0 if there is none */
	u64 gap_start;  /* return of the last outermost call, 0 before one */
	u8 role; /* ROLE_…; 0: has storage, but is not accounted for */
	u8 gpu; /* device + 1; 0 unknown */
	u8 queued;  /* counted in queue.waiting */
	u8 watched; /* has kept a dispatching thread waiting: totals are needed often */
	u32 off_count; /* interval records since off_window */
	struct snap gap; /* totals at gap_start */

	u64 v[NCLASS], oncpu; /* running totals, ns */
	u32 involuntary, spins; /* switch-outs while runnable; the part of seq that is not switch-ins */
	/* t_in: when it last came to a CPU, 0 not known; t_wake: first wake-up since t_out,
	 * 0 none; t_total: when its totals were last reported */
	u64 t_in, t_wake, t_total;
	u64 spin_to, looked; /* looked: when a timer last interrupted the thread */
	u64 exec_out;   /* se.sum_exec_runtime at the last switch-out */
	u64 tramp;      /* address probed functions return to, 0 not known yet */
	u32 off_window; /* rate limit of interval records: number of the window of 2^30 ns */
	/* the system call, + 2, of the last wait between calls that was long (1: in none, as in a page
	 * fault): at the next one in it, a stack is taken (sample_wait of sched.bpf.c); 0: none was */
	u16 long_wait;
	u8 copying; /* a program of ours copies its stack for a call: no sample may come between them */
	/* the off-CPU interval in progress; what is the waker's is valid only if t_wake > t_out */
	u8 class, state;
	s16 nr, waker_nr;
	u16 out_cpu;
	u64 uaddr, waker_uaddr, ino; /* futex words, inode: see struct off_rec */
	u32 waker, waker_tgid, holder, fd; /* fd: the first argument of its system call */
	char waker_comm[COMM_LEN];
	u64 gave_up; /* the condition variable whose last wait has no known waker; 0 if none */
	/* the reclaim that is not reported yet: its kind, 0 if none; since when its
	 * current part is in progress; begin and end of the parts before it */
	u32 reclaim, reclaim_parts;
	u64 reclaim_in, reclaim_start, reclaim_end, reclaim_ns;
	u64 waker_born; /* of its process: see born_of */
	struct frame fr[DEPTH];
};
_Static_assert(__builtin_offsetof(struct thr, fr) % 64 == 48, "the first frame and its cache line");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thr);
} threads SEC(".maps");

/*
 * Calls, gaps, intervals, totals, stacks. Resized by the loader. One ring for all
 * CPUs, so that records are in the order in which they were reserved, also those of a
 * thread that changes its CPU: a stack or a socket comes before the record that it
 * belongs to. A full ring drops the new record, and lose() counts it by kind.
 * User space reads it in capture/probe/ring.go.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

/*
 * Life-cycle events, separate so that many calls cannot displace them. The agent
 * waits for this ring: a new process needs its probes before its first call.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} lives SEC(".maps");

/*
 * Loss counters by enum loss, summed over CPUs by Tracer.Losses once a second. Of each
 * CPU, so that counting needs no atomic instruction. A program in an interrupt that
 * counts between the load and the store of another one loses its own increment.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NLOSS);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

/*
 * Per operation (index event.Op), kept up to date by user space (agent/meter.go, by what
 * calls of the operation usually take); in ns. An array, because an index needs no
 * hash. A program may read one field before and the other after an update: they do
 * not depend on each other.
 */
struct limit {
	u64 stack; /* take a stack of calls that took at least this long */
	u64 off;   /* inside this call, record waits for the device from this length */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OP_SLOTS);
	__type(key, u32);
	__type(value, struct limit);
} limits SEC(".maps");

/*
 * How many accounted threads are runnable but not running. The tasks that run
 * instead are remembered only while there are any. One number for all CPUs: a thread may
 * be queued on another CPU than the one that it runs on in the end.
 *
 * It may be too high: if an exit was not reported, or if a wake-up raced with the
 * switch-in of a thread that had been preempted on its way to sleep. Then more
 * is remembered than needed, which costs some time and makes nothing wrong.
 */
struct queue {
	u64 waiting;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct queue);
} queue SEC(".maps");

static __always_inline struct queue *the_queue(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&queue, &zero);
}

/* Counts a record that is dropped. Every way out that drops one has a call of this. */
static __always_inline void lose(u32 k)
{
	u64 *n = bpf_map_lookup_elem(&losses, &k);
	if (n)
		(*n)++;
}

/* As bpf_get_current_pid_tgid, for a given task. */
static __always_inline u64 id_of(struct task_struct *t)
{
	return (u64)(u32)t->tgid << 32 | (u32)t->pid;
}

/* States of a task (include/linux/sched.h). */
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED 4
#define TASK_TRACED 8
#define TASK_DEAD 0x80
#define TASK_RTLOCK_WAIT 0x1000 /* 5.15, on PREEMPT_RT */
#define TASK_FROZEN 0x8000      /* 6.1 */

/*
 * What is kept of a task's state; 0: it stays runnable. Who is frozen waits for somebody to thaw it, as version 2 of
 * control groups lets it, interruptibly; who waits for a lock of the kernel that sleeps on PREEMPT_RT does so
 * uninterruptibly. Who is dead does not wait for a CPU.
 */
static __always_inline u32 kept_state(u32 state)
{
	if (state & TASK_FROZEN)
		return TASK_INTERRUPTIBLE;
	return state & TASK_RTLOCK_WAIT ? TASK_UNINTERRUPTIBLE : state & 0xff;
}

/* The state of a thread that is accounted for, null for all others: the filter. */
static __always_inline struct thr *thread_of(struct task_struct *t)
{
	if (!t->bpf_storage) /* most tasks of the machine: one load instead of a helper */
		return 0;
	return bpf_task_storage_get(&threads, t, 0, 0);
}

/*
 * Makes the state, all zero, if there is none. Null if the kernel has no memory. It
 * allocates, so it must not be called where the run-queue lock is held.
 */
static __always_inline struct thr *thread_make(struct task_struct *t)
{
	return bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/*
 * `queued` makes these two safe to call twice. sched_waking comes before the kernel puts
 * the thread on a run queue, so a wake-up enters before its switch-in leaves.
 */
static __always_inline void queue_enter(struct thr *t)
{
	struct queue *q = the_queue();
	if (!q || t->queued)
		return;
	t->queued = 1;
	__sync_fetch_and_add(&q->waiting, 1);
}

static __always_inline void queue_leave(struct thr *t)
{
	struct queue *q = the_queue();
	if (!q || !t->queued)
		return;
	t->queued = 0;
	__sync_fetch_and_add(&q->waiting, -1);
}

static __always_inline void snapshot(struct snap *s, const struct thr *t)
{
	if (s->seq == t->seq)
		return;
	__builtin_memcpy(s->v, t->v, sizeof s->v);
	s->involuntary = t->involuntary;
	s->spins = t->spins;
	s->seq = t->seq;
}

static __always_inline u16 clamp16(u32 n) { return n > 0xffff ? 0xffff : n; }

/*
 * What was added to the totals since a snapshot, in 16 ns units so that it takes 4
 * bytes a class. Switches that are not involuntary are voluntary; waits on the CPU
 * (spins) are in seq, but are no switches.
 */
static __always_inline void ledger(struct led *l, const struct thr *t, const struct snap *s)
{
#pragma unroll
	for (int i = 0; i < NCLASS; i++) {
		u64 d = (t->v[i] - s->v[i]) >> 4;
		l->v[i] = d > 0xffffffff ? 0xffffffff : d;
	}
	u32 pre = t->involuntary - s->involuntary, n = t->seq - s->seq - (t->spins - s->spins);
	l->involuntary = clamp16(pre);
	l->voluntary = clamp16(n - pre);
}

/*
 * Books the interval that began at t_out and ended at `in`; returns the blocked
 * part. If no wake-up was stamped since t_out, either it came just before the
 * switch-out (the two race on different CPUs) and the thread only waited for a
 * CPU, or the event was dropped: then the split is unknown and all of it counts as
 * the class of the sleep, never as run queue, which would blame another task.
 */
static __always_inline u64 settle(struct thr *t, u64 in)
{
	u64 dur = in - t->t_out, blocked = 0;

	if (t->state == 0) {
		blocked = t->class == CLASS_THROTTLED ? dur : 0;
	} else if (t->t_wake > t->t_out) {
		blocked = t->t_wake - t->t_out;
	} else if (t->t_wake + EARLY_NS < t->t_out) {
		blocked = dur;
		lose(LOSS_WAKE);
	}
	if (blocked > dur) /* `in` is an estimate if the switch-in was not reported */
		blocked = dur;
	/* Never out of range, but the verifier does not know what is in memory. */
	t->v[t->class < NCLASS ? t->class : CLASS_OTHER] += blocked;
	t->v[CLASS_RUNQ] += dur - blocked;
	queue_leave(t);
	t->seq++;
	t->t_in = in;
	t->t_out = 0;
	t->t_wake = 0;
	return blocked;
}

/*
 * When a task's process began, in ns since the boot, with the time that the machine was suspended. It
 * tells processes apart that had the same id: /proc/PID/stat has it too, in ticks.
 */
static __always_inline u64 born_of(struct task_struct *task)
{
	return task->group_leader->start_boottime;
}

/*
 * The common fields of every record of an off-CPU interval. `next` is the thread,
 * seen when it comes back. Without a wake-up in the interval the waker's fields are
 * left from an earlier one, and are not reported. Padding is set, because the memory
 * of a ring is not cleared and user space may read it.
 */
static __always_inline void off_common(struct off_rec *e, struct thr *t, struct task_struct *next, u64 out, u64 dur, u64 blocked, bool woken, u16 op, u16 cpu)
{
	e->h = (struct hdr){ out, next->pid, op, KIND_OFF, t->class };
	e->dur = dur;
	e->runq = dur - blocked;
	e->tgid = next->tgid;
	e->holder = t->holder;
	e->waker = woken ? t->waker : 0;
	e->waker_tgid = woken ? t->waker_tgid : 0;
	e->uaddr = t->uaddr;
	e->waker_uaddr = woken ? t->waker_uaddr : 0;
	e->ino = t->ino;
	e->nr = t->nr;
	e->waker_nr = woken ? t->waker_nr : -1;
	e->waker_born = woken ? t->waker_born : 0;
	e->out_cpu = t->out_cpu;
	e->in_cpu = cpu;
	e->state = t->state;
	e->role = t->role;
	__builtin_memset(e->pad, 0, sizeof e->pad);
	__builtin_memcpy(e->comm, next->comm, COMM_LEN);
	if (woken)
		__builtin_memcpy(e->waker_comm, t->waker_comm, COMM_LEN);
	else
		__builtin_memset(e->waker_comm, 0, COMM_LEN);
}

#define COOKIE_MARK 16 /* a mark of the program, which is no call: see call_enter */

static __always_inline bool is_mark(u64 cookie) { return cookie >> 24 & COOKIE_MARK; }

/* The operation a thread is in, 0 between calls. The masks bound the index for the verifier. */
static __always_inline u16 op_of(const struct thr *t)
{
	u32 d = t->depth;
	u64 cookie = d ? t->fr[(d - 1) & (DEPTH - 1)].cookie : 0;

	if (is_mark(cookie)) /* it is in what the mark is in */
		cookie = d > 1 ? t->fr[(d - 2) & (DEPTH - 1)].cookie : 0;
	return cookie;
}

/* Intervals that no switch ends are recorded from this length on, as others are by default. */
#define SHORT_NS 100000

#include "spin.h"
#include "socket.h"

/* Ends an interval whose end was not reported at `in`, and records it. */
static __always_inline void end_unseen(struct thr *t, struct task_struct *task, u64 in)
{
	u64 out = t->t_out, dur = in - out;
	bool woken = t->t_wake > out;
	u64 blocked = settle(t, in);
	lose(LOSS_HEALED);
	if (dur < SHORT_NS)
		return;
	if (t->class == CLASS_NET)
		emit_socket(t, task, out);
	struct off_rec *o = bpf_ringbuf_reserve(&events, sizeof *o, 0);
	if (!o) {
		lose(LOSS_OFF);
		return;
	}
	off_common(o, t, task, out, dur, blocked, woken, op_of(t), bpf_get_smp_processor_id());
	bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
}

/*
 * Ends a wait on the CPU and an interval off the CPU. The thread runs now, so it came
 * back as long ago as it has run since: that is what the scheduler's clock has
 * added since the switch-out, but not more than the time since the last thing known.
 * Not inlined: calls rarely need it, and code size slows every call.
 */
static __attribute__((noinline)) int repair_off_cpu(struct thr *t, struct task_struct *task, u64 now)
{
	if (t->spin_from)
		spin_end(t, task, now);
	if (!t->t_out)
		return 0;
	u64 ran = task->se.sum_exec_runtime - t->exec_out, since = t->t_wake > t->t_out && t->t_wake < now ? t->t_wake : t->t_out;
	if (ran > now - since)
		ran = now - since;
	end_unseen(t, task, now - ran);
	return 0;
}

/*
 * Ends the recorded state of a running thread. If that state is off CPU, its
 * switch-in was never reported. The scheduler's own clock says how long it has run
 * since; it is late by up to a tick for a thread that has run longer than one.
 */
static __always_inline void repair_missed_switch(struct thr *t, struct task_struct *task, u64 now)
{
	if (t->t_out | t->spin_from)
		repair_off_cpu(t, task, now);
}

/*
 * Records a life-cycle event of the thread `tid` of `tgid`. Without `comm` it gets the
 * name of the current thread. `wakeup` is BPF_RB_FORCE_WAKEUP for what the agent must
 * act on at once, as while the process can still be read.
 */
static __always_inline void life(u8 what, u32 tid, u32 tgid, u64 now, u16 op, u64 dur, const char *comm, u64 wakeup)
{
	struct life_rec *r = bpf_ringbuf_reserve(&lives, sizeof *r, 0);
	if (!r) {
		lose(LOSS_LIFE);
		return;
	}
	r->h = (struct hdr){ now, tid, op, KIND_LIFE, what };
	r->tgid = tgid;
	r->ptid = r->ptgid = r->pad = 0;
	r->dur = dur;
	if (comm)
		__builtin_memcpy(r->comm, comm, COMM_LEN);
	else
		bpf_get_current_comm(r->comm, COMM_LEN);
	bpf_ringbuf_submit(r, wakeup);
}

/*
 * Reports the calls that a thread was in when it ended: they are recorded, not dropped.
 * Outermost first. Marks are no calls, and are left out. The loop has a constant bound and
 * a break, because the verifier has to see that it ends.
 */
static __always_inline void abandon(struct thr *t, u32 tid, u32 tgid, u64 now)
{
	for (int i = 0; i < DEPTH; i++) {
		if (i >= t->depth)
			break;
		if (!is_mark(t->fr[i].cookie))
			life(LIFE_UNFINISHED, tid, tgid, now, t->fr[i].cookie, now - t->fr[i].start, 0, BPF_RB_NO_WAKEUP);
	}
	t->depth = 0;
}

#endif
