/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Probes of functions run preemptible, and from 6.13 on the kernel may keep the
 * stack of a program that needs 64 bytes of it or more in memory of the CPU instead
 * of the thread's. Two threads that take turns on a CPU, both in the program, then
 * overwrite each other's variables, pointers among them, and the kernel crashes. A crash
 * that fits was seen on 7.2, which is always preemptible. So a program attached to
 * functions lets no other thread onto its CPU.
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
