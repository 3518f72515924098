/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * To probe a function's return, the kernel replaces its return address on the stack by that of a
 * trampoline, and keeps the real one in a list. To find callers by a stack, it has to be put back.
 */
#ifndef INGERO_RETURNS_H
#define INGERO_RETURNS_H
#include "kernel.h"
#include "event.h"

/*
 * Where the kernel makes a task's probed functions return to; 0 if not set up yet.
 * It is at the beginning of a page (xol_area) that an address space gets when it first needs one.
 */
static __always_inline u64 trampoline_of(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/*
 * The innermost return addresses that were replaced in a task's stack. Before kernel 6.13 the first is
 * that of the function that is just returning. Behind the last, reads fail and give 0: without
 * branches, the verifier has one path to check instead of one for each number of addresses.
 */
static __always_inline void replaced_returns(struct returns *r, struct task_struct *task)
{
	struct return_instance *ri = BPF_CORE_READ(task, utask, return_instances);

	if (!ri) {
		r->tramp = 0;
		r->ret[0].at = r->ret[0].to = 0;
		return;
	}
	r->tramp = trampoline_of(task);
#pragma unroll
	for (int i = 0; i < NRETURN; i++) {
		r->ret[i].at = BPF_CORE_READ(ri, stack);
		r->ret[i].to = BPF_CORE_READ(ri, orig_ret_vaddr);
		ri = BPF_CORE_READ(ri, next);
	}
}

#endif
