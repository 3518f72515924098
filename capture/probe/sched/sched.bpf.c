//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The scheduler's side of the ledger: where did the time of an accounted thread
// go, who ran instead, who woke it, and which threads are accounted for.
//
// Hooks, in the order of a thread's life: sched_process_fork (its storage is made before it runs),
// sched_switch (out), sched_waking, sched_switch (in), hrtimer_expire_entry (waits on the CPU,
// stalls), sched_process_exec, sched_process_exit. The task iterator adopts threads that exist
// already. sched_waking is used and not sched_wakeup, because it runs on the waker's CPU, where
// the waker's system call can be read, and comes before the thread is put on a run queue.
//
// Intervals, totals and stalls go to `events`, births and ends to `lives`; capture/probe/decode.go
// reads both. Maps are declared here, in thread.h and connection.h. Switches are the hottest
// events of a machine, most are of tasks that nobody asked about: what is done before the filter
// in switched() counts.
#include "thread.h"
#include "code.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Set by the loader (capture/probe/load.go) before the programs are loaded; the verifier takes
// them for constants.
const volatile u32 self_tgid = 0;          /* the tracer: never followed */
const volatile u64 off_min_ns = 100000;    /* shorter intervals only count in the ledger */
const volatile u64 total_every_ns = 100000000;
const volatile u64 watch_every_ns = 5000000;  /* the same for threads that others wait for */
const volatile u64 watch_min_ns = 1000000;    /* ... at least this long */
const volatile u64 stall_min_ns = 300000;  /* a timer interrupt this late is a stall of its CPU */
const volatile u32 off_per_second = 1000;  /* interval records a thread may emit in 2^30 ns; longer than 10 ms always */
const volatile bool follow = 1;
const volatile u8 class_of[512] = {};      /* system call -> class, filled by the loader for the architecture */

u32 followed = 0;                          /* threads adopted because they woke a traced one */
const volatile u32 follow_max = 512;

#include "wait.h"
#include "look.h"

// Who ran on a CPU lately, so that a thread that waited for it can name them. Written only on the
// CPU itself. Read on another one if a preempted thread comes back elsewhere: an entry may be
// overwritten while it is read, and a culprit then have a wrong time or name. That is rare, and
// cheaper than a lock at each switch. A power of two, so that a mask bounds the index.
#define NRAN 16
struct ran {
	u64 end, ns, born; /* born: of its process, see born_of */
	u32 tgid, tid;
	char comm[COMM_LEN];
};
struct cpu {
	u64 since;    /* when the running task was switched in */
	u32 tid, n;   /* the running task; number of entries written */
	u64 stalled;  /* end of the last stall */
	u64 known;    /* tid is */
	struct ran ran[NRAN];
};

// An array by CPU, not a per-CPU one: name_culprits reads other CPUs' rows.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024); /* resized by the loader to the possible CPUs */
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

// Processes whose existing threads the iterator adopts. Tracer.Adopt fills it, runs the iterator,
// and empties it.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} wanted SEC(".maps");

// Is a runnable thread taken off the CPU because its control group has used up its quota? From
// 6.18 on the task has a flag for it; before, its run queue does. On kernels without CFS bandwidth
// neither field exists.
static __always_inline bool is_throttled(struct task_struct *task, struct task_struct *next)
{
	if (bpf_core_field_exists(task->throttled)) {
		if (BPF_CORE_READ(task, throttled))
			return true;
	} else if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count)) {
		if (BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0)
			return true;
	}
	return next->pid == 0; /* runnable, but the CPU was idle */
}

// Reports a thread's totals up to now. If the ring is full, t_total stays, and the next switch-out
// tries again.
static __always_inline void emit_total(struct thr *t, struct task_struct *task, u64 exec, u64 now)
{
	struct total_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
	if (!r) {
		lose(LOSS_TOTAL);
		return;
	}
	r->h = (struct hdr){ now, task->pid, 0, KIND_TOTAL, 0 };
	r->tgid = task->tgid;
	r->role = t->role;
	r->oncpu = t->oncpu;
	r->exec = exec;
	r->born = born_of(task);
	r->kernel = task->stime;
	__builtin_memcpy(r->v, t->v, sizeof r->v);
	__builtin_memcpy(r->comm, task->comm, COMM_LEN);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	t->t_total = now;
}

// The thread leaves the CPU. `prev` is still the current task here, so its user memory can be
// read. A thread that stays runnable waits for a CPU from now on (queue_enter); one that sleeps
// does so from its wake-up on (on_waking). t_out is set after what describes the wait: until then
// a waker on another CPU finds a thread that runs, and only stamps the time (EARLY_NS).
static __always_inline void switch_out(struct thr *t, struct task_struct *prev, struct task_struct *next, u32 state, u64 now, u16 cpu)
{
	u64 exec = prev->se.sum_exec_runtime;

	repair_missed_switch(t, prev, now);
	t->exec_out = exec;
	if (t->t_in)
		t->oncpu += now - t->t_in;
	t->state = state;
	t->out_cpu = cpu;
	if (state == 0) {
		t->class = is_throttled(prev, next) ? CLASS_THROTTLED : CLASS_RUNQ;
		t->nr = -1;
		t->uaddr = t->ino = 0;
		t->holder = 0;
		t->involuntary++;
		queue_enter(t);
	} else {
		t->class = classify(t, prev);
	}
	t->t_out = now;
	if (now - t->t_total > (t->watched ? watch_every_ns : total_every_ns))
		emit_total(t, prev, exec, now);
}

// Names the tasks that ran on `cpu` between `from` and `now`, except `tid`. From the newest entry
// backwards, until one that ended before the wait. An entry that ends more than 1 ms after now is
// not believed, and ends the search. A task's entries are added up; the first four
// tasks found are named. Time of idle (tid 0) is kept apart: nobody had the CPU then.
static __always_inline void name_culprits(struct off_full_rec *e, u32 cpu, u64 from, u64 now, u32 tid)
{
	struct cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	e->idle = 0;
	__builtin_memset(e->culprit, 0, sizeof e->culprit);
	if (!c)
		return;
	u32 n = c->n; /* once: on another CPU it may grow meanwhile */
	for (int i = 1; i <= NRAN; i++) {
		struct ran *r = &c->ran[(n - i) & (NRAN - 1)];
		u64 end = r->end, ns = r->ns;
		if (end <= from || end > now + 1000000)
			break;
		if (ns > end - from)
			ns = end - from;
		u32 who = r->tid;
		if (who == 0) {
			e->idle += ns;
			continue;
		}
		if (who == tid)
			continue;
#pragma unroll
		for (int k = 0; k < NCULPRIT; k++) {
			struct culprit *q = &e->culprit[k];
			if (q->tid == who) {
				q->ns += ns;
				break;
			}
			if (!q->tid) {
				q->tgid = r->tgid;
				q->tid = who;
				q->ns = ns;
				q->born = r->born;
				__builtin_memcpy(q->comm, r->comm, COMM_LEN);
				break;
			}
		}
	}
}

// May this thread record another interval? Long ones always may. The limit is for each thread, so
// that one which switches all the time cannot hide the others. The ledger has the time in any
// case.
static __always_inline bool may_record(struct thr *t, u64 dur, u64 now)
{
	if (t->off_window != (u32)(now >> 30)) {
		t->off_window = now >> 30;
		t->off_count = 0;
	}
	if (t->off_count++ < off_per_second || dur > 10000000)
		return true;
	lose(LOSS_OFF_THINNED);
	return false;
}

// Is this wait for the futex that the last one was given up for? Who ends it is who
// kept the thread waiting before, so that it is recorded however short it is.
static __always_inline bool renewed(struct thr *t, bool woken, u64 dur)
{
	if (t->class != CLASS_FUTEX)
		return false;
	u64 condition = t->uaddr & ~7ull; /* glibc's has two words side by side */
	bool again = t->gave_up == condition;
	t->gave_up = dur < off_min_ns || (woken && t->waker_uaddr) ? 0 : condition;
	return again;
}

/*
 * Begins the interval of a thread that comes to a CPU although nothing said that it had left one, or
 * which has run since it left one. The scheduler's own clock says how long it ran, and so when it left;
 * a wake-up since then says that it slept. It has not run since: its registers still tell what it waits
 * for. Returns false if nothing is known to compare with, or if it ran the whole time.
 *
 * A new thread comes here at its first switch-in, and gets its t_in. The current task is still
 * the one that leaves, so a lock's word can be read only if both are of one process.
 */
static __attribute__((noinline)) int rebuild_out(struct thr *t, struct task_struct *task, u64 now)
{
	u64 exec = task->se.sum_exec_runtime, ran = exec - t->exec_out;
	bool slept = t->t_out; /* perhaps: only its first wake-up was stamped */

	if (!t->t_out) {
		slept = t->t_wake > t->t_in;
	} else if (!t->state) { /* who did not sleep is not woken: that was for a later sleep */
		u64 wake = t->t_wake;
		end_unseen(t, task, t->t_out);
		t->t_wake = wake;
	} else if (t->t_wake > t->t_out && t->t_wake < now) {
		end_unseen(t, task, t->t_wake);
	} else { /* no more is known than this sleep */
		end_unseen(t, task, ran < now - t->t_out ? now - ran : now);
	}
	u64 on = now - t->t_in;
	bool known = t->t_in && t->exec_out && !t->spin_from;
	t->exec_out = exec;
	if (known)
		t->oncpu += ran < on ? ran : on;
	if (!known || ran >= on) {
		t->t_in = now;
		return 0;
	}
	t->t_out = t->t_in + ran;
	t->state = slept;
	t->out_cpu = bpf_get_smp_processor_id();
	if (slept) {
		t->class = classify(t, task);
		if (bpf_get_current_pid_tgid() >> 32 != task->tgid)
			t->holder = 0;
	} else {
		t->class = CLASS_RUNQ;
		t->nr = -1;
		t->uaddr = t->ino = 0;
		t->holder = 0;
		t->involuntary++;
	}
	lose(LOSS_HEALED);
	return 1;
}

#define RAN_NS 1000 /* a thread that ran longer since it left its CPU came back unseen */
#define LONG_WAIT_NS 1000000 /* where a thread waits so long between calls, its next wait shows where it is */

// The thread comes back to a CPU: its interval is over, and is booked. Whether it is recorded one
// by one depends on its length, on the usual waits of the call that it is in, and on the rate
// limit. What is expensive (socket, culprits, kernel stack) comes last, for the few that are
// recorded.
static __always_inline void switch_in(struct thr *t, struct task_struct *next, u64 now, u16 cpu)
{
	if ((!t->t_out || next->se.sum_exec_runtime - t->exec_out > RAN_NS) && !rebuild_out(t, next, now))
		return;
	u64 out = t->t_out, dur = now - out;
	bool woken = t->t_wake > out;
	u64 blocked = settle(t, now);
	bool again = renewed(t, woken, dur);
	if (dur < off_min_ns && !again)
		return;
	if (blocked >= LONG_WAIT_NS && !t->depth && t->nr >= -1)
		t->long_wait = t->nr + 2;
	u16 op = op_of(t);
	u8 k = t->class;
	bool wait = k == CLASS_SLEEP || k == CLASS_POLL || k == CLASS_IOCTL;
	if (op && wait && dur - blocked < off_min_ns) { /* the device, as far as the ledger knows: only if it is unusual */
		u32 key = op % OP_SLOTS;
		struct limit *l = bpf_map_lookup_elem(&limits, &key);
		if (l && dur < l->off)
			return;
	}
	if (!may_record(t, dur, now))
		return;
	if (wait && dur - blocked < off_min_ns) {
		struct off_rec *o = bpf_ringbuf_reserve(&events, sizeof *o, 0);
		if (!o) {
			lose(LOSS_OFF);
			return;
		}
		off_common(o, t, next, out, dur, blocked, woken, op, cpu);
		bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
		return;
	}
	if (k == CLASS_NET) {
		struct sock *sk = emit_socket(t, next, out);
		if (sk)
			waited_for(sk, next, out, out + blocked, now);
	}
	struct off_full_rec *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
	if (!e) {
		lose(LOSS_OFF);
		return;
	}
	off_common(&e->o, t, next, out, dur, blocked, woken, op, cpu);
	/* A preempted thread waited where it ran, a woken one where it was put. */
	name_culprits(e, t->state == 0 ? t->out_cpu : cpu, now - (dur - blocked), now, next->pid);
	/* Frozen since it slept: the same stack as at switch-out, at half the price. */
	e->nstack = bpf_get_task_stack(next, e->stack, sizeof e->stack, 0);
	e->pad = 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

const volatile bool sample_waits = 0; /* where threads wait between calls is sampled */

// Samples where the current thread goes to sleep: in a system call, or a page fault, in which it has waited for
// LONG_WAIT_NS or more before. So the first wait of its kind is not seen. The run-queue lock is held: a sample copies
// eight pages of the stack at most. Not static: then the verifier checks it on its own, and not once for each way on
// which switched() comes here.
__attribute__((noinline)) int sample_wait(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);
	u64 now = bpf_ktime_get_ns(), *next = next_code();

	if (!t || !next || now < *next)
		return 0;
	*next = later_code(now);
	t->long_wait = 0;
	return take_code(0, task, t, STACK_OF_WAIT, now);
}

// Is it worth knowing where a thread waits that has just gone to sleep?
static __always_inline bool worth(const struct thr *t)
{
	return t->long_wait && t->long_wait == (u16)(t->nr + 2) && !t->depth && (t->role & ROLE_DISPATCH || t->watched);
}

// Remembers who ran until now. `since` may be that of an earlier task if nobody waited meanwhile:
// a culprit's time is cut to the wait it is blamed for. Overwrites the oldest entry.
static __always_inline void note_ran(struct cpu *c, struct task_struct *prev, u64 now)
{
	struct ran *r = &c->ran[c->n & (NRAN - 1)];
	r->end = now;
	r->ns = now - c->since;
	r->tgid = prev->tgid;
	r->tid = prev->pid;
	r->born = born_of(prev);
	__builtin_memcpy(r->comm, prev->comm, COMM_LEN);
	c->n++;
	c->since = now;
}

// A switch on this CPU. The run-queue lock is held and interrupts are off: nothing may be
// allocated. If the task that leaves is not the one that came last, a switch was not reported;
// what was missed is repaired from the scheduler's clock when a thread is seen next. note_ran
// comes before switch_in, so that the task that leaves is among those that `next` waited for.
static __always_inline int switched(struct task_struct *prev, struct task_struct *next, u32 state)
{
	struct thr *p = thread_of(prev), *n = thread_of(next);
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct queue *q = the_queue();

	if (!c || !q)
		return 0;
	bool missed = c->known && c->tid != prev->pid;
	if (missed)
		lose(LOSS_SWITCH);
	c->tid = next->pid;
	c->known = 1;
	bool waiting = *(volatile u64 *)&q->waiting; /* read once: other CPUs change it */
	asm volatile("" : "+r"(p)); /* else clang tests p|n, which the verifier refuses */
	if (!p && !n && !waiting)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (missed)
		c->since = now; /* it is not known which task had the time */
	else if (waiting)
		note_ran(c, prev, now);
	if (p) {
		switch_out(p, prev, next, kept_state(state), now, cpu);
		if (sample_waits && state && worth(p))
			sample_wait();
	}
	if (n)
		switch_in(n, next, now, cpu);
	return 0;
}

// A thread that is preempted on its way to sleep stays runnable, whatever its state.
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	return switched(prev, next, preempt ? 0 : state);
}

// What the kernel charges everybody for having programs here at all.
SEC("tp_btf/sched_switch")
int empty_switch(void *ctx) { return 0; }

SEC("tp_btf/sched_waking")
int empty_waking(void *ctx) { return 0; }

// For kernels before 5.18, whose tracepoint does not have the state. The loader keeps one of the
// two (keepSwitch of capture/probe/kernel.go). The thread's own state may have been changed by a
// waker on another CPU since the kernel decided: then a sleep is taken for a preemption.
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_stateless, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(prev, next, preempt ? 0 : prev->__state);
}

// Was a wait for another thread, so that its waker is the one? That is so for locks, pipes and sockets, and
// for what else the kernel let it wait for until a thread in a system call ended it: see released() of
// account/ledger/follow.go, which decides; this is for whom the waker's time may be needed.
static __always_inline bool is_for_thread(const struct thr *t)
{
	u8 k = t->class;

	if (t->waker_nr < 0) /* an interrupt, in any thread */
		return false;
	if (k == CLASS_OTHER)
		return true;
	if (k == CLASS_IOCTL)
		return t->state == 2 && t->waker_nr == t->nr;
	return k == CLASS_FUTEX || k == CLASS_PIPE || k == CLASS_NET;
}

// A traced thread has waited since `since` until `w` woke it. Who released a lock, fed a pipe or
// socket, or did what else it waited for is accounted for from now on, and if it kept a dispatching
// thread waiting, its totals are reported now and often, so that its own time can be split over
// just that wait.
static __always_inline void woken_by(struct thr *t, struct task_struct *w, u64 since, u64 now)
{
	if (t->waker_tgid == self_tgid || !is_for_thread(t))
		return;
	struct thr *x = thread_of(w);
	if (!x) {
		if (!follow || followed >= follow_max || w->flags & PF_EXITING) /* others may exceed it by a few */
			return;
		x = thread_make(w);
		if (!x)
			return;
		x->role = ROLE_FOLLOWED;
		x->t_in = now;
		__sync_fetch_and_add(&followed, 1);
	}
	/* A waker that is off the CPU by its state, or not accounted for yet, has no totals to report. */
	if (!(t->role & ROLE_DISPATCH) || now - since < watch_min_ns || x->t_out || !x->t_in)
		return;
	x->watched = 1;
	u64 oncpu = x->oncpu;
	x->oncpu += now - x->t_in; /* it is running */
	emit_total(x, w, w->se.sum_exec_runtime, now);
	x->oncpu = oncpu;
}

// The first wake-up of an interval counts: later ones come while the thread is runnable already.
// It runs on the waker's CPU, perhaps in an interrupt: then the current task was only interrupted,
// and is a bystander. That cannot be seen here. A waker that is idle or of the kernel is in no
// system call.
//
// The thread may be in the middle of its switch-out on another CPU, so that t_out is not set yet:
// see settle() for what becomes of that. So while t_out is 0 each wake-up is stamped: the last one
// before the switch-out may be that one. A thread that sleeps is put on a run queue only after
// this has returned, so that its switch-in finds all of the waker's fields written.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct thr *t = thread_of(p);

	if (!t || (t->t_out && t->t_wake >= t->t_out))
		return 0;
	struct task_struct *w = bpf_get_current_task_btf();
	u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	t->t_wake = now;
	if (t->t_out)
		queue_enter(t);
	t->waker = id;
	t->waker_tgid = id >> 32;
	t->waker_nr = -1;
	t->waker_uaddr = 0;
	t->waker_born = born_of(w);
	bpf_get_current_comm(t->waker_comm, COMM_LEN);
	if (!t->waker || w->flags & PF_KTHREAD)
		return 0;
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(w);
	int nr = SYSCALL_NR(r);
	t->waker_nr = nr;
	if (nr >= 0 && nr < 512 && class_of[nr & 511] == CLASS_FUTEX)
		t->waker_uaddr = SYSCALL_ARG1(r);
	u64 since = t->t_out ? t->t_out : t->spin_from;
	if ((t->role & ROLE_MASK) == ROLE_TRACED && since)
		woken_by(t, w, since, now);
	return 0;
}

// A traced thread made a thread or a process, which has not run yet: no switch of it is missed. It
// is accounted for from birth, and the agent is woken up for a process, which needs probes before
// its first call. Children of threads that are only followed are not traced.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thr *t = thread_of(parent), *x;

	if (!t || (t->role & ROLE_MASK) != ROLE_TRACED)
		return 0;
	x = thread_make(child);
	if (!x) {
		lose(LOSS_THREAD);
		return 0;
	}
	x->role = ROLE_TRACED;
	x->gpu = child->tgid == parent->tgid ? 1 : t->gpu; /* a new thread starts with device 0 */
	bool process = child->tgid == child->pid;
	struct life_rec *r = bpf_ringbuf_reserve(&lives, sizeof *r, 0);
	if (!r) {
		lose(LOSS_LIFE);
		return 0;
	}
	r->h = (struct hdr){ bpf_ktime_get_ns(), child->pid, 0, KIND_LIFE, LIFE_FORK };
	r->tgid = child->tgid;
	r->ptid = parent->pid;
	r->ptgid = parent->tgid;
	r->pad = 0;
	r->dur = 0;
	__builtin_memcpy(r->comm, child->comm, COMM_LEN);
	bpf_ringbuf_submit(r, process ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

// The thread has another program. The calls that it was in never return, the trampoline was in the
// old address space, and a first call is to be reported again. If another thread than the first of
// its process executes the program, it gets the first one's id; its storage stays with it.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct thr *t = thread_of(task);

	if (!t)
		return 0;
	u64 now = bpf_ktime_get_ns();
	abandon(t, task->pid, task->tgid, now);
	t->gap_start = t->tramp = 0;
	t->gpu = 1;
	t->role &= ~ROLE_DISPATCH;
	if ((t->role & ROLE_MASK) == ROLE_TRACED)
		life(LIFE_EXEC, task->pid, task->tgid, now, 0, 0, task->comm, BPF_RB_FORCE_WAKEUP);
	return 0;
}

// The thread ends, in its own context. Its totals are reported; what it still does in the kernel
// after this may be left out. Its storage goes with the task.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thr *t = thread_of(task);

	if (!t)
		return 0;
	u64 now = bpf_ktime_get_ns();
	abandon(t, task->pid, task->tgid, now);
	repair_missed_switch(t, task, now);
	queue_leave(t);
	if (t->t_in && !t->t_out) {
		u64 oncpu = t->oncpu;
		t->oncpu += now - t->t_in;
		emit_total(t, task, task->se.sum_exec_runtime, now);
		t->oncpu = oncpu;
	}
	if ((t->role & ROLE_MASK) == ROLE_TRACED)
		life(LIFE_EXIT, task->pid, task->tgid, now, 0, 0, task->comm, BPF_RB_NO_WAKEUP);
	if ((t->role & ROLE_MASK) == ROLE_FOLLOWED) {
		t->role &= ~ROLE_MASK; /* once */
		__sync_fetch_and_sub(&followed, 1);
	}
	return 0;
}

// Adopts the threads that exist when tracing of their process begins. They are accounted for from
// their next switch on: t_in and t_out are 0 until then.
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	u32 tgid = task->tgid;
	if (!bpf_map_lookup_elem(&wanted, &tgid))
		return 0;
	struct thr *t = thread_make(task);
	if (t && (t->role & ROLE_MASK) == ROLE_FOLLOWED)
		__sync_fetch_and_sub(&followed, 1);
	if (t && (t->role & ROLE_MASK) != ROLE_TRACED)
		t->role = (t->role & ~ROLE_MASK) | ROLE_TRACED;
	return 0;
}

// A timer that fires late says that its CPU did nothing meanwhile: the hypervisor
// ran somebody else on it, or the kernel had interrupts off. To the threads on it
// that looks like a long computation or a device that answers late.
//
// `now` and `expires` are of the timer's own clock base, so their difference is right for
// all bases. More than 10 s is not believed: if the wall clock is set, its timers are late by the
// whole step.
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer, struct hrtimer *timer, s64 *now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);
	s64 at = 0;

	if (t)
		look(t, task);
	bpf_probe_read_kernel(&at, sizeof at, now);
	s64 late = at - timer->node.expires;
	if (late < (s64)stall_min_ns || late > 10000000000 || timer->is_soft) /* soft timers wait for their softirq */
		return 0;
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	if (!c)
		return 0;
	u64 to = bpf_ktime_get_ns(), from = to - late;
	if (from < c->stalled) /* several timers are late together */
		from = c->stalled;
	if (from + stall_min_ns > to)
		return 0;
	c->stalled = to;
	struct stall_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
	if (!r) {
		lose(LOSS_STALL);
		return 0;
	}
	r->h = (struct hdr){ from, cpu, 0, KIND_STALL, 0 };
	r->dur = to - from;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}
