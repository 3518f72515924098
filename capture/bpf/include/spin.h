/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Waits that never leave the CPU. A thread that waits for a futex with priority
 * inheritance spins in the kernel while the owner runs on another CPU
 * (rtmutex_spin_on_owner of kernel/locking/rtmutex.c): no context switch shows
 * the wait. It is checked when timers expire, such as the tick
 * (capture/probe/sched/look.h). The wait ends at the wake-up, or else at the next observed
 * action of the thread. So a wait shorter than a tick may be missed.
 * Included once, by thread.h.
 */
#ifndef INGERO_SPIN_H
#define INGERO_SPIN_H

#define TICK_NS 10000000 /* the longest tick: CONFIG_HZ_100 */

/*
 * Is a thread in the call that locks a futex with priority inheritance? The low 7 bits
 * are the command, the others flags (FUTEX_CMD_MASK of include/uapi/linux/futex.h).
 */
static __always_inline bool in_pi_lock(struct pt_regs *r)
{
	u32 cmd = SYSCALL_ARG2(r) & 0x7f;

	return SYSCALL_NR(r) == NR_FUTEX && (cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2);
}

/*
 * Books a wait on the CPU up to `to`. The same time will be counted as on-CPU at the next
 * switch-out (now - t_in), so it is taken off beforehand; oncpu may wrap below zero
 * until then.
 */
static __always_inline void spin_until(struct thr *t, u64 from, u64 to)
{
	t->v[CLASS_FUTEX] += to - from;
	t->oncpu -= to - from;
	t->spin_to = to;
	t->seq++;
	t->spins++;
}

/*
 * Ends the wait on the CPU that was in progress, and reports it. Without a wake-up it
 * ended at some time since it was last seen.
 */
static __always_inline void spin_end(struct thr *t, struct task_struct *task, u64 now)
{
	u64 from = t->spin_from, end = now, room = now - t->spin_to;

	t->spin_from = 0; /* first: a timer may interrupt this */
	if (t->t_wake > t->spin_to && t->t_wake < now)
		end = t->t_wake;
	else if (!in_pi_lock((struct pt_regs *)bpf_task_pt_regs(task)))
		end = t->spin_to + (room < TICK_NS ? room : TICK_NS) / 2;
	spin_until(t, t->spin_to, end);
	if (end - from < SHORT_NS)
		return;
	struct off_rec *o = bpf_ringbuf_reserve(&events, sizeof *o, 0);
	if (!o) {
		lose(LOSS_OFF);
		return;
	}
	u32 cpu = bpf_get_smp_processor_id();
	t->out_cpu = cpu;
	off_common(o, t, task, from, end - from, end - from, t->t_wake > from, op_of(t), cpu);
	bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
}

#endif
