/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Uprobe programs can be preempted. From 6.13 on, if a program needs 64 bytes of stack
 * or more, the kernel may keep its stack in memory of the CPU instead of the thread's.
 * Two threads that alternate on a CPU, both in the program, then overwrite each other's
 * variables, including pointers, and the kernel crashes. A crash that fits this was seen
 * on 7.2, which is always preemptible. So programs attached to functions disable
 * preemption while they run.
 */
#ifndef INGERO_HOLD_H
#define INGERO_HOLD_H
#include "kernel.h"

extern void bpf_preempt_disable(void) __ksym __weak; /* kernel 6.10 */
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void hold_cpu(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void release_cpu(void)
{
	if (bpf_preempt_enable)
		bpf_preempt_enable();
}

#endif
