/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks what a thread does when a timer interrupts it. Included once, after
 * wait.h. It is for waits that no switch shows (spin.h).
 */
#ifndef INGERO_LOOK_H
#define INGERO_LOOK_H

// Since when a thread that is found in a wait is in it. Between two looks: if nothing
// else is known, since half the time. A call that begins or ends is nearer: threads
// that launch work do little but wait if a call is late.
static __always_inline u64 spin_since(const struct thr *t, u64 now)
{
	u64 since = t->depth ? t->fr[(t->depth - 1) & (DEPTH - 1)].start : t->gap_start;

	if (since < t->t_in)
		since = t->t_in;
	if (since < t->looked)
		since = t->looked + (now - t->looked) / 2;
	return since + TICK_NS < now ? now - TICK_NS : since;
}

// Runs in the interrupt, so it may come in the middle of a call program of the same thread. Such
// programs only read the fields that describe a wait. A thread that is off the CPU by its
// state is not looked at: its switch-in was not reported, and repair_missed_switch ends that first.
static __always_inline void look(struct thr *t, struct task_struct *task)
{
	u64 now = bpf_ktime_get_ns();
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	if (t->t_out || !t->t_in || !in_pi_lock(r)) { /* !t_in: it is not accounted for yet */
		if (t->spin_from)
			spin_end(t, task, now);
	} else if (t->spin_from) {
		spin_until(t, t->spin_to, now);
	} else {
		u64 since = spin_since(t, now);
		t->spin_from = since;
		t->class = CLASS_FUTEX;
		t->state = kept_state(task->__state);
		t->nr = NR_FUTEX;
		t->ino = 0;
		t->uaddr = SYSCALL_ARG1(r);
		t->holder = futex_owner(t->uaddr, SYSCALL_ARG2(r), 0);
		spin_until(t, since, now);
	}
	t->looked = now;
}

#endif
