//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Which code runs on a CPU where that is worth knowing: a thread that makes CUDA calls makes none for a
// while, or is in the kernel; or a thread runs that such a thread has waited for, or one of a traced
// process while a traced thread waits for a CPU. Sampled when a timer
// interrupts it, such as the tick: nothing new interrupts anybody. How often: code.h. Where such threads wait is
// sampled by sched.bpf.c.
#include "code.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u64 quiet_ns = 1000000; /* between calls for so long */

/*
 * Is it worth knowing what the running thread does? `nr` is the system call that it is in, or -1. What our own programs
 * do is not: and a sample's stack would take the place of the one that they copy.
 */
static __always_inline bool worth(const struct thr *t, s32 nr, u64 now)
{
	struct queue *q = the_queue();

	if (t->copying || nr == NR_URETPROBE)
		return false;
	if (!(t->role & ROLE_DISPATCH))
		return !t->depth && (t->watched || (q && q->waiting));
	if (nr >= 0)
		return true;
	return !t->depth && t->gap_start && now - t->gap_start >= quiet_ns;
}

// `timer` may be any that expires in an interrupt. What runs then is the interrupted thread. Soft timers come in a
// softirq, which says nothing about the thread's own time.
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(sample, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);

	if (!t || !t->role || timer->is_soft)
		return 0;
	u64 now = bpf_ktime_get_ns(), *next = next_code();
	if (!next || now < *next || !worth(t, SYSCALL_NR((struct pt_regs *)bpf_task_pt_regs(task)), now))
		return 0;
	*next = later_code(now);
	return take_code(ctx, task, t, STACK_OF_CODE, now);
}
