/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stacks of calls: the registers after the return and a copy of the user stack,
 * from which user space finds the callers (package symbol/unwind). That works
 * without frame pointers, and the copy ends where the thread's stack does, so a
 * shallow stack costs little.
 */
#ifndef INGERO_USTACK_H
#define INGERO_USTACK_H
#include "thread.h"
#include "python.h"

const volatile u32 stack_quota = 0;  /* stacks a CPU takes in 2^30 ns; 0: no limit */

struct stack_window {
	u64 at;
	u64 taken;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_window);
} stack_windows SEC(".maps");

/* Whether this CPU may take another stack. */
static __always_inline bool stack_allowed(u64 now)
{
	u32 zero = 0;
	struct stack_window *w;

	if (!stack_quota)
		return true;
	w = bpf_map_lookup_elem(&stack_windows, &zero);
	if (!w)
		return false;
	if (w->at != now >> 30) {
		w->at = now >> 30;
		w->taken = 0;
	}
	return w->taken++ < stack_quota;
}

#define STACK_SLACK 64 /* above what the kernel calls the stack's start: what the program's first frame reads */

/*
 * How much of the stack there is above sp. The main thread's begins where the
 * kernel put the arguments; glibc and musl put a thread's below its control block,
 * to which the thread pointer points. Of any other stack as much is copied as can be.
 */
static __always_inline u32 stack_depth(struct task_struct *task, u64 sp)
{
	u64 top, n;

	if (task->pid == task->tgid)
		top = BPF_CORE_READ(task, mm, start_stack) + STACK_SLACK;
	else
		top = BPF_CORE_READ(task, THREAD_POINTER);
	n = top - sp;
	return n > STACK_MAX ? STACK_MAX : n;
}

#define STACK_PART 4096

/*
 * Copies up to `want` of at most `max` bytes; returns how many could be read. Sizes
 * are constant or masked: older verifiers know no other bounds.
 */
static __always_inline u32 copy_stack(u8 *to, u64 sp, u32 want, const u32 max)
{
	const u32 part = max < STACK_PART ? max : STACK_PART;
	u32 n = 0;

#pragma unroll
	for (u32 at = 0; at < max; at += STACK_PART) {
		u32 rest = want - at, page = STACK_PART - ((sp + at) & (STACK_PART - 1));
		bool whole = rest >= part;
		long failed;

		if (at >= want)
			break;
		if (whole) {
			failed = bpf_probe_read_user(to + at, part, (void *)(sp + at));
		} else {
			barrier_var(rest);
			rest &= part - 1;
			failed = bpf_probe_read_user(to + at, rest, (void *)(sp + at));
		}
		if (!failed) {
			n = at + (whole ? part : rest);
			continue;
		}
		if (page < (whole ? part : rest)) { /* what there is of its first page */
			barrier_var(page);
			page &= part - 1;
			if (!bpf_probe_read_user(to + at, page, (void *)(sp + at)))
				n = at + page;
		}
		break;
	}
	return n;
}

static __always_inline void stack_head(struct stack_rec *r, struct pt_regs *c, const struct frame *f, u64 id)
{
	r->h = (struct hdr){ f->start, id, f->cookie, KIND_STACK, 0 };
	r->tgid = id >> 32;
	r->pc = PT_REGS_IP(c);
	r->sp = PT_REGS_SP(c);
#if defined(__TARGET_ARCH_x86)
	r->reg[0] = c->bx;
	r->reg[1] = c->bp;
	r->reg[2] = c->r12;
	r->reg[3] = c->r13;
	r->reg[4] = c->r14;
	r->reg[5] = c->r15;
#else
#pragma unroll
	for (int i = 0; i < 11; i++)
		r->reg[i] = AREG(c, 19 + i);
#endif
}

/* Ring space is reserved by size classes: a program must know how much before. */
#define STACK_OF(size)                                                          \
	do {                                                                    \
		struct { struct stack_rec r; u8 data[size]; } *s;               \
		s = bpf_ringbuf_reserve(&events, sizeof *s, 0);                 \
		if (!s) {                                                       \
			lose(LOSS_STACK);                                       \
			return 0;                                               \
		}                                                               \
		stack_head(&s->r, c, f, id);                                    \
		s->r.len = copy_stack(s->data, PT_REGS_SP(c), want, size);      \
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);                        \
	} while (0)

/* Not inlined: calls seldom come here, and pay for every byte on their way. */
static __attribute__((noinline)) int take_stack(struct pt_regs *c, struct frame *f, u64 id, u64 now)
{
	if (!stack_allowed(now)) {
		lose(LOSS_STACK);
		return 0;
	}
	if (use_python) /* which takes little of the ring */
		python_stack(f->start, id, f->cookie);
	if (!room_below(stack_room)) {
		lose(LOSS_STACK);
		return 0;
	}
	u32 want = stack_depth(bpf_get_current_task_btf(), PT_REGS_SP(c));
	if (want <= 1024)
		STACK_OF(1024);
	else if (want <= 4096)
		STACK_OF(4096);
	else if (want <= 16384)
		STACK_OF(16384);
	else
		STACK_OF(STACK_MAX);
	return 0;
}

#endif
