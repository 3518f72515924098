/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stacks of calls: the registers after the return and a copy of the user stack,
 * from which user space finds the callers (package capture/symbol/unwind). That works
 * without frame pointers. The copy ends where the thread's stack ends, so a
 * shallow stack costs little. docs/stacks.md has the measurements, and why the stack is
 * not walked here.
 *
 * A stack is a record of its own, before the call's: the decoder keeps it until the call with
 * the same thread and start follows (capture/probe/decode_stack.go). Stacks that are not
 * taken are counted as LOSS_STACK.
 */
#ifndef INGERO_USTACK_H
#define INGERO_USTACK_H
#include "thread.h"
#include "python.h"
#include "returns.h"

const volatile u32 stack_quota = 0;  /* stacks a CPU takes in 2^30 ns; 0: no limit */
const volatile u32 stack_pages = 0;  /* pages that it copies in that time from large stacks; 0: no limit */

/*
 * What a CPU has taken in the current window of 2^30 ns (a shift instead of a division). Per CPU
 * and not per thread: it bounds what stacks cost the machine, whatever the number of threads.
 * The programs hold their CPU where the kernel can do that (hold.h); elsewhere a preempted
 * program may lose an increment, so that a few more stacks are taken.
 */
struct stack_window {
	u64 at; /* number of the window */
	u32 taken, pages; /* in it */
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_window);
} stack_windows SEC(".maps");

/* Whether this CPU may take another stack. Asking takes it off the quota. */
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
		w->taken = w->pages = 0;
	}
	return w->taken++ < stack_quota;
}

/* Whether this CPU may copy so many pages of a large stack, after stack_allowed. */
static __always_inline bool pages_allowed(u32 pages)
{
	u32 zero = 0;
	struct stack_window *w;

	if (!stack_pages)
		return true;
	w = bpf_map_lookup_elem(&stack_windows, &zero);
	if (!w || w->pages + pages > stack_pages)
		return false;
	w->pages += pages;
	return true;
}

#define STACK_SLACK 64 /* above the kernel's start of the stack: read by the program's first frame */
#define STACK_BLIND 8  /* pages that are copied of a stack of unknown size, and of every stack */
#define STACK_SANE (64 << 20) /* bytes: a thread that seems to be deeper is on a stack of its own */

/*
 * The size of the stack above sp, in bytes. The main thread's stack begins where the
 * kernel put the arguments. glibc and musl put a thread's stack below its control block,
 * to which the thread pointer points. The size of any other stack is not known. There sp is
 * above `top`, so that the difference wraps, or far below: both are beyond STACK_SANE, and the
 * stack is copied up to the end of its eighth page.
 */
static __always_inline u32 stack_depth(struct task_struct *task, u64 sp)
{
	u64 top, n;

	if (task->pid == task->tgid)
		top = BPF_CORE_READ(task, mm, start_stack) + STACK_SLACK;
	else
		top = BPF_CORE_READ(task, THREAD_POINTER);
	n = top - sp;
	return n > STACK_SANE ? STACK_BLIND * STACK_PAGE - (sp & (STACK_PAGE - 1)) : n;
}

/*
 * Copies up to `want` of at most STACK_PAGE bytes; returns how many could be read.
 * Sizes are constant or masked: older verifiers know no other bounds. barrier_var keeps the
 * compiler from dropping a mask that it knows to be without effect. `max` is a power of
 * two. A read is all or nothing, so if it fails, the part up to the end of the page is
 * tried: the stack may end there.
 */
static __always_inline u32 copy_stack(u8 *to, u64 sp, u32 want, const u32 max)
{
	u32 page = STACK_PAGE - (sp & (STACK_PAGE - 1));

	if (want >= max) {
		if (!bpf_probe_read_user(to, max, (void *)sp))
			return max;
		want = max;
	} else {
		u32 n = want;
		barrier_var(n);
		n &= max - 1;
		if (!bpf_probe_read_user(to, n, (void *)sp))
			return n;
	}
	if (page >= want)
		return 0;
	barrier_var(page); /* what there is of its first page */
	page &= max - 1;
	return bpf_probe_read_user(to, page, (void *)sp) ? 0 : page;
}

/*
 * Copies `pages` of at most `max` pages. A page that cannot be read is left out: only a
 * large frame has room for a page that was never written. The bits of readable pages are
 * kept in memory: in a register, older verifiers would follow every combination. The loop's
 * bound is a constant of each size class (PAGES_OF), so that `to` is known to be in range.
 */
static __always_inline void copy_pages(struct stack_rec *r, u8 *to, u64 near, u64 far, u32 pages, const u32 max)
{
	u64 at = near;

	r->far = far;
	r->len = pages * STACK_PAGE;
	r->pages[0] = r->pages[1] = 0;
	for (u32 i = 0; i < max; i++) {
		if (i >= pages)
			break;
		if (i == STACK_NEAR)
			at = far;
		if (!bpf_probe_read_user(to + i * STACK_PAGE, STACK_PAGE, (void *)at))
			r->pages[i / 64] |= 1ull << (i % 64);
		at += STACK_PAGE;
	}
}

/* Not inlined: there is one call for each size. */
static __attribute__((noinline)) int stack_returns(struct stack_rec *r)
{
	replaced_returns(&r->returns, bpf_get_current_task_btf());
	return 0;
}

/*
 * The registers that a caller may expect to be unchanged: what unwinding starts from. They are
 * those at the return, so the callee has restored them.
 */
static __always_inline void stack_head(struct stack_rec *r, struct pt_regs *c, u64 start, u32 op, u64 id)
{
	r->h = (struct hdr){ start, id, op, KIND_STACK, op >> 16 };
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
	stack_returns(r);
}

/*
 * Ring space is reserved by size classes: the size must be a constant. The part
 * that is not filled is not cleared; `len` says where the copy ends.
 */
#define STACK_OF(size, copy)                                                    \
	do {                                                                    \
		struct { struct stack_rec r; u8 data[size]; } *s;               \
		s = bpf_ringbuf_reserve(&events, sizeof *s, 0);                 \
		if (!s) {                                                       \
			lose(STACK_LOSS);                                       \
			return 0;                                               \
		}                                                               \
		stack_head(&s->r, c, start, op, id);                                    \
		copy;                                                           \
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);                        \
	} while (0)
#define BYTES_OF(n) STACK_OF(n, s->r.far = 0; s->r.len = copy_stack(s->data, sp, want, n))
#define PAGES_OF(n) STACK_OF((n) * STACK_PAGE, copy_pages(&s->r, s->data, near, far, pages, n))

/*
 * Copies the Python frames and the native stack of a call that returns, or of a thread that is interrupted or goes to
 * sleep. Above half of the ring
 * (stack_room) no stack is copied: stacks are large, and must not displace calls. A stack of more
 * than STACK_NEAR + STACK_FAR pages loses its middle, where usually one large frame is. Not
 * inlined: calls rarely need it, and code size slows every call. `op` is the operation, and whose
 * stack it is in the upper half: enum stack_of.
 */
static __attribute__((noinline)) int take_stack(struct pt_regs *c, u64 start, u32 op, u64 id, u64 now)
{
	const u32 most = STACK_NEAR + STACK_FAR;

	if (!stack_allowed(now)) {
		lose(STACK_LOSS);
		return 0;
	}
	if (use_python) /* Python frames take little room in the ring */
		python_stack(start, id, op);
	if (!room_below(stack_room)) {
		lose(STACK_LOSS);
		return 0;
	}
	u64 sp = PT_REGS_SP(c), near = sp & ~(u64)(STACK_PAGE - 1);
	u32 want = stack_depth(bpf_get_current_task_btf(), sp);
	if (want <= 1024) {
		BYTES_OF(1024);
		return 0;
	}
	if (want <= STACK_PAGE) {
		BYTES_OF(STACK_PAGE);
		return 0;
	}
	u32 pages = ((u32)(sp - near) + want + STACK_PAGE - 1) / STACK_PAGE;
	u64 far = near + STACK_NEAR * STACK_PAGE;
	if (pages > most) {
		far = near + (u64)(pages - STACK_FAR) * STACK_PAGE;
		pages = most;
	}
	if (pages > STACK_BLIND && (op >> 16 == STACK_OF_WAIT || !pages_allowed(pages)))
		pages = STACK_BLIND; /* while a thread goes to sleep its CPU waits for the copy */
	if (pages <= 4)
		PAGES_OF(4);
	else if (pages <= 8)
		PAGES_OF(8);
	else if (pages <= 16)
		PAGES_OF(16);
	else if (pages <= 32)
		PAGES_OF(32);
	else if (pages <= 64)
		PAGES_OF(64);
	else
		PAGES_OF(STACK_NEAR + STACK_FAR);
	return 0;
}

#endif
