/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The entry and return of a traced call, the same for every back end. The
 * attach cookie says which function it is: op | shape << 16 | flags << 24.
 *
 * The return finds its entry by the stack pointer, not by counting. That is
 * right also if a frame was left by longjmp or an exception, if a function
 * calls itself, and if one function tail-calls another.
 *
 * This is the hot path: a traced thread pays for each instruction, for each call.
 * State is in task storage (thread.h), one record is written for a call, and what few
 * calls need is in functions that are not inlined.
 */
#ifndef INGERO_CALL_H
#define INGERO_CALL_H
#include "thread.h"
#include "args.h"
#include "ustack.h"
#include "hold.h"

#define COOKIE_SETS_DEVICE 1
#define COOKIE_SHORT_TOO 2 /* even the shortest call may get a stack */
#define COOKIE_INNER 4     /* its probe may be removed while it is called only within other calls */
#define COOKIE_SITE 8      /* arg[3] is where the call was made from */

/*
 * Set by the loader before the programs are loaded, read-only afterwards. So the
 * verifier knows their values and removes what they switch off: it costs nothing.
 */
const volatile u32 self_tgid = 0;    /* the tracer: never traced */
const volatile bool use_ledger = 1;
const volatile bool stack_all = 0;   /* a stack for every call */
const volatile bool stack_failed = 0; /* and for each that fails */
const volatile u64 stack_every = 0;  /* power of two - 1: also 1 in N by the clock's low bits; 0: none */

/*
 * Set before the probes of functions with COOKIE_INNER are first removed. From then on, a missing
 * entry or return belongs to a call that is not counted separately. It changes while programs run
 * (capture/probe/inner.go), and is never reset: a call may be in progress across a removal.
 */
volatile bool inner_off = 0;

/* Counts a call of which only one half was seen, unless that is the removal's doing. */
static __always_inline void lose_half(u32 loss, u64 cookie)
{
	if (!(inner_off && cookie >> 24 & COOKIE_INNER))
		lose(loss);
}

/*
 * trampoline_of the running task, which is remembered. A thread keeps its address space until it
 * executes a program, where on_exec resets this.
 */
static __always_inline u64 trampoline(struct thr *t)
{
	if (!t->tramp)
		t->tramp = trampoline_of(bpf_get_current_task_btf());
	return t->tramp;
}

/* A call this young, with its stack above ours, is assumed to have made our call. */
#define YOUNG_NS 20000

/*
 * Is the call of frame `f` still in progress, now that the stack pointer is `sp`?
 * Its return address must still be the trampoline: after a longjmp the slot is
 * reused, and in a tail call it is shared. Runtime calls make their driver calls
 * at once, so the check is needed only for older frames. Reading user memory is the
 * most expensive part of an entry. A read that fails counts as "over".
 *
 * top < sp: the stack has shrunk beyond the frame, so its call cannot be in progress.
 */
static __always_inline bool in_progress(struct thr *t, struct pt_regs *c, const struct frame *f, u64 sp, u64 now)
{
	u64 top = f->sp;

	if (top < sp)
		return false;
	if (top > sp && now - f->start < YOUNG_NS)
		return true;
#if defined(__TARGET_ARCH_x86)
	u64 tramp = trampoline(t), ret = 0;
	if (!tramp)
		return top > sp;
	bpf_probe_read_user(&ret, 8, (void *)top);
	return ret == tramp;
#else
	return top > sp || AREG(c, 30) == trampoline(t); /* the return address is in a register */
#endif
}

/*
 * Drops frames of calls that are over; returns the remaining depth. The loop has a constant
 * bound for the verifier, and `& (DEPTH - 1)` bounds the index: the verifier does not
 * know that what it reads from memory is at most DEPTH.
 */
static __always_inline u32 live_depth(struct thr *t, struct pt_regs *c, u64 sp, u64 now)
{
	u32 d = t->depth;

	for (int i = 0; i < DEPTH; i++) {
		if (!d || d > DEPTH || in_progress(t, c, &t->fr[(d - 1) & (DEPTH - 1)], sp, now))
			break;
		lose_half(LOSS_UNFINISHED, t->fr[(d - 1) & (DEPTH - 1)].cookie);
		d--;
	}
	return d;
}

/* Records the time since the last outermost call, with what the thread did in it. */
static __always_inline void gap_end(struct thr *t, u64 id, u32 op, u64 now)
{
	struct gap_rec *g = bpf_ringbuf_reserve(&events, sizeof *g, 0);
	if (!g) {
		lose(LOSS_GAP);
		return;
	}
	g->h = (struct hdr){ t->gap_start, id, op, KIND_GAP, 0 };
	g->dur = now - t->gap_start;
	g->tgid = id >> 32;
	g->pad = 0;
	ledger(&g->l, t, &t->gap);
	bpf_ringbuf_submit(g, BPF_RB_NO_WAKEUP);
}

/*
 * A thread's first call, or a mark of one that is not traced yet. Marks are records of
 * their own (nvtx.h): they make no thread one that dispatches work, and end no gap.
 * A thread without a role was not accounted for until now: its time on the CPU counts from
 * here. The agent is woken up, so that it can read what the process has mapped while it lives.
 */
static __always_inline void first_call(struct thr *t, u64 id, u64 cookie, u64 now)
{
	if (is_mark(cookie) && t->role & ROLE_TRACED)
		return;
	if (!t->role)
		t->t_in = now;
	t->role = is_mark(cookie) ? ROLE_TRACED : ROLE_TRACED | ROLE_DISPATCH;
	life(LIFE_FIRST, id, id >> 32, now, cookie & 0xffff, 0, 0, BPF_RB_FORCE_WAKEUP);
}

/*
 * Returns false if the return half is not wanted. A uprobe runs in its thread with no lock
 * held, so storage may be made here. Threads of the tracer never get a role, so that they
 * are turned away each time. Frames are filled before depth is raised: the task
 * iterator of in-flight calls may read them at any moment.
 */
static __always_inline bool call_enter(struct pt_regs *c, u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns(), sp = PT_REGS_SP(c);
	struct thr *t = thread_make(task);
	u32 op = cookie & 0xffff;

	if (!t) {
		lose(LOSS_THREAD);
		return false;
	}
	if (!(t->role & ROLE_DISPATCH)) {
		u64 id = id_of(task);
		if (id >> 32 == self_tgid)
			return false;
		first_call(t, id, cookie, now);
	}
	repair_missed_switch(t, task, now);
	u32 d = t->depth ? live_depth(t, c, sp, now) : 0;
	if (d >= DEPTH) {
		t->depth = d;
		lose(LOSS_NESTED);
		return false;
	}
	struct frame *f = &t->fr[d & (DEPTH - 1)];
	f->start = now;
	f->sp = sp;
	f->cookie = cookie;
	call_args(f, c, cookie >> 16 & 0xff);
	if (use_ledger) {
		if (!d && t->gap_start && t->gap.seq != t->seq && !is_mark(cookie))
			gap_end(t, id_of(task), op, now);
		snapshot(&f->s, t);
	}
	t->depth = d + 1;
	return true;
}

/* What both forms of a call's record have. */
static __always_inline void fill(struct call_rec *r, struct frame *f, u64 id, s32 ret, u64 now, u8 sub)
{
	r->h = (struct hdr){ f->start, id, f->cookie, KIND_CALL, sub };
	r->dur = now - f->start;
	r->tgid = id >> 32;
	r->ret = ret;
	__builtin_memcpy(r->arg, f->arg, sizeof r->arg);
}

#define NOT_READY 600     /* cudaErrorNotReady, CUDA_ERROR_NOT_READY: the normal result of a query */
#define NCCL_IN_PROGRESS 7 /* ncclInProgress */

static __always_inline bool failed(s32 ret)
{
	return ret && ret != NOT_READY && ret != NCCL_IN_PROGRESS;
}

/*
 * Does this call get a stack? Only outermost calls are asked about. For "1 in N" the low bits of
 * the clock are as good as a counter, and need no memory that CPUs share.
 */
static __always_inline bool wants_stack(u64 cookie, u64 start, u64 dur, s32 ret)
{
	if (stack_all || (stack_failed && failed(ret)))
		return true;
	if (stack_every && !(start & stack_every))
		return true;
	if (dur < 1000 && !(cookie >> 24 & COOKIE_SHORT_TOO)) /* no call this short is slow; saves the look-up */
		return false;
	u32 k = cookie % OP_SLOTS;
	struct limit *l = bpf_map_lookup_elem(&limits, &k);
	return l && l->stack && dur >= l->stack;
}

/*
 * `attached` is the cookie of the function that returns. The kernel runs this after the
 * return instruction, so sp is where it was at entry but for the return address (RETURN_POP).
 * A thread without storage made its call before the probe was there, or got no memory.
 */
static __always_inline void call_return(struct pt_regs *c, u64 attached)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);
	u64 now = bpf_ktime_get_ns(), sp = PT_REGS_SP(c) - RETURN_POP;

	if (!t)
		return;
	repair_missed_switch(t, task, now);
	u32 d = t->depth;
	/* Frames above ours were left without returning. */
	for (int i = 0; i < DEPTH; i++) {
		if (!d || t->fr[(d - 1) & (DEPTH - 1)].sp >= sp)
			break;
		lose_half(LOSS_UNFINISHED, t->fr[(d - 1) & (DEPTH - 1)].cookie);
		d--;
	}
	struct frame *f = &t->fr[(d - 1) & (DEPTH - 1)];
	if (!d || f->sp != sp) {
		t->depth = d;
		if (d < DEPTH) /* else nested too deep, counted at entry */
			lose_half(LOSS_UNMATCHED, attached);
		return;
	}
	d--;
	t->depth = d;

	u64 id = id_of(task);
	s32 ret = PT_REGS_RC(c);
	u64 cookie = f->cookie;
	if (cookie >> 24 & (COOKIE_MARK | COOKIE_SITE)) { /* one test for launches, which are neither */
		if (is_mark(cookie)) {
			mark_return(f, id, now, PT_REGS_RC(c));
			return;
		}
		f->arg[3] = PT_REGS_IP(c); /* where it returns to: the kernel has put that back by now */
	}
	if (f->out && !ret)
		call_result(f, cookie >> 16 & 0xff, id >> 32, now);
	if (cookie >> 24 & COOKIE_SETS_DEVICE && !ret)
		t->gpu = (u32)f->arg[0] < 31 ? (u32)f->arg[0] + 1 : 0;
	bool copied = !d && wants_stack(cookie, f->start, now - f->start, ret);
	if (copied) {
		t->copying = 1;
		take_stack(c, f->start, (u16)cookie, id, now);
	}
	u8 sub = d | t->gpu << 3;
	/* Two reservations, as the verifier wants constant sizes; most calls need the short one. */
	if (!use_ledger || f->s.seq == t->seq) {
		struct call_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
		if (r) {
			fill(r, f, id, ret, now, sub);
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		} else {
			lose(LOSS_CALL);
		}
	} else {
		struct call_led_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
		if (r) {
			fill(&r->c, f, id, ret, now, sub);
			ledger(&r->l, t, &f->s);
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		} else {
			lose(LOSS_CALL);
		}
	}
	if (copied)
		t->copying = 0;
	if (!d && use_ledger) {
		t->gap_start = now;
		snapshot(&t->gap, t);
	}
}

#endif
