//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Which code runs on a CPU where that is worth knowing: a thread that makes CUDA calls makes none for a
// while, or is in the kernel; or a thread runs that such a thread has waited for, or one of a traced
// process while a traced thread waits for a CPU. Sampled when a timer
// interrupts it, such as the tick, on each CPU at most once in 10 to 26 ms: nothing new interrupts
// anybody, and what a sample costs is bounded for the machine. Not at equal distances, so that no period of a
// program can hide between them.
//
// And where a thread waits between calls that makes such calls, or that such a thread has waited for: sampled when it
// goes to sleep in a system call, or in a page fault, in which it has waited for 1 ms or more before, at the same
// distances. So the first wait of its kind is not seen.
//
// A sample is the user stack with its Python frames (ustack.h), then the record, which
// capture/probe/decode_stack.go puts together.
#define STACK_LOSS LOSS_CODE
#include "ustack.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u64 quiet_ns = 1000000; /* between calls for so long */

#define EVERY_NS 10000000
#define VARY_NS ((1 << 24) - 1) /* added at random; a power of two - 1 */

/* When a CPU takes its next sample, of what runs and of who waits. Interrupts are off where it is read and written. */
enum sampled { RUNS, WAITS, NSAMPLED };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NSAMPLED);
	__type(key, u32);
	__type(value, u64);
} next_sample SEC(".maps");

/* May this CPU take a sample now? If so, `next` is when it may take another one. */
static __always_inline bool is_due(u32 which, u64 now)
{
	u64 *next = bpf_map_lookup_elem(&next_sample, &which);

	return next && now >= *next;
}

static __always_inline void taken(u32 which, u64 now)
{
	u64 *next = bpf_map_lookup_elem(&next_sample, &which);

	if (next)
		*next = now + EVERY_NS + (bpf_get_prandom_u32() & VARY_NS);
}

/* Is it worth knowing what the running thread does? `nr` is the system call that it is in, or -1. */
static __always_inline bool worth(const struct thr *t, s32 nr, u64 now)
{
	struct queue *q = the_queue();

	if (!(t->role & ROLE_DISPATCH))
		return !t->depth && (t->watched || (q && q->waiting));
	if (nr >= 0)
		return true;
	return !t->depth && t->gap_start && now - t->gap_start >= quiet_ns;
}

/* Takes a sample of the current task. `ctx` is for the kernel's stack, which is that of what runs. */
static __always_inline int take_sample(void *ctx, struct task_struct *task, struct thr *t, u32 of, u64 now)
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

// `timer` may be any that expires in an interrupt. What runs then is the interrupted thread. Soft timers come in a
// softirq, which says nothing about the thread's own time.
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(sample, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);

	if (!t || !t->role || timer->is_soft)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (!is_due(RUNS, now) || !worth(t, SYSCALL_NR((struct pt_regs *)bpf_task_pt_regs(task)), now))
		return 0;
	taken(RUNS, now);
	return take_sample(ctx, task, t, STACK_OF_CODE, now);
}

// `prev` is still the current task, so its user memory can be read. A waker on another CPU may change its state
// meanwhile: then a sample is missed. The run-queue lock is held, so a sample
// copies eight pages of the stack at most.
SEC("tp_btf/sched_switch")
int BPF_PROG(sample_wait, bool preempt, struct task_struct *prev)
{
	struct thr *t = thread_of(prev);

	if (!t || !t->long_wait || t->depth || preempt || !prev->__state || !(t->role & ROLE_DISPATCH || t->watched))
		return 0;
	s32 nr = SYSCALL_NR((struct pt_regs *)bpf_task_pt_regs(prev));
	u64 now = bpf_ktime_get_ns();
	if (nr < -1 || nr + 2 != t->long_wait || !is_due(WAITS, now))
		return 0;
	taken(WAITS, now);
	t->long_wait = 0;
	return take_sample(0, prev, t, STACK_OF_WAIT, now);
}
