/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Samples of code: of what runs when a timer interrupts it (codesample.bpf.c), and of where a thread goes to sleep
 * (sched.bpf.c). Each CPU takes one of either kind in 10 to 26 ms at most, so that what they cost is bounded for the
 * machine. Not at equal distances, so that no period of a program can hide between them.
 *
 * A sample is the user stack with its Python frames (ustack.h), then the record, which
 * capture/probe/decode_stack.go puts together.
 */
#ifndef INGERO_CODE_H
#define INGERO_CODE_H
#define STACK_LOSS LOSS_CODE
#include "ustack.h"

#define CODE_EVERY_NS 10000000
#define CODE_VARY_NS ((1 << 24) - 1) /* added at random; a power of two - 1 */

/* When a CPU takes its next sample. Interrupts are off where it is read and written. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} next_sample SEC(".maps");

/* Since when this CPU may take its next sample. */
static __always_inline u64 *next_code(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&next_sample, &zero);
}

static __always_inline u64 later_code(u64 now) { return now + CODE_EVERY_NS + (bpf_get_prandom_u32() & CODE_VARY_NS); }

/* Takes a sample of the current task. `ctx` is for the kernel's stack, which is that of what runs; 0: without. */
static __always_inline int take_code(void *ctx, struct task_struct *task, struct thr *t, u32 of, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 id = id_of(task);
	u16 op = op_of(t);

	take_stack(regs, now, op | of << 16, id, now);
	struct code_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
	if (!r) {
		lose(STACK_LOSS);
		return 0;
	}
	r->h = (struct hdr){ now, id, op, KIND_CODE, of };
	r->tgid = id >> 32;
	r->nr = SYSCALL_NR(regs);
	r->role = t->role;
	r->pad = 0;
	r->nstack = ctx ? bpf_get_stack(ctx, r->stack, sizeof r->stack, 0) : 0;
	r->pad2 = 0;
	__builtin_memcpy(r->comm, task->comm, COMM_LEN);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
