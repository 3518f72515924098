//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Which threads are in a call that has not returned, or have made none for long, and what do they wait for?
// Nothing is attached: user space runs the iterator about once a second, so calls
// and context switches pay nothing for it.
//
// It reads the state of threads (thread.h) while they run on other CPUs and change it. A record may
// therefore mix two moments; what must not be mixed is checked at the end. The records are
// read from the iterator's file (capture/probe/inflight/reader.go) and become event.InFlight in
// capture/probe/inflight.go, which reads the user stack itself, from the registers here.
#include "thread.h"
#include "returns.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u64 min_ns = 1000000000; /* calls younger than this are not reported */
const volatile u64 silent_ns = 3000000000; /* nor threads that have made none for less than this */

/*
 * Threads to report always: they hold what others wait for. Set by Reader.Ask before each read,
 * with the holders that earlier reads named, so a chain is followed one step a read.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u8);
} asked SEC(".maps");

/*
 * One record is larger than the stack of a program. One goroutine runs the iterator, so nobody
 * shares it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct flight_rec);
} scratch SEC(".maps");

/*
 * The calls in progress. Unrolled, so that each index is a constant: no bound has to be proved.
 * Unused entries are cleared, as the row is used for every thread.
 */
static __always_inline void calls(struct flight_rec *r, const struct thr *t, u32 depth)
{
#pragma unroll
	for (u32 i = 0; i < DEPTH; i++) {
		struct flight_call *c = &r->call[i];
		const struct frame *f = &t->fr[i];
		if (i >= depth) {
			__builtin_memset(c, 0, sizeof *c);
			continue;
		}
		c->start = f->start;
		c->sp = f->sp;
		__builtin_memcpy(c->arg, f->arg, sizeof c->arg);
		c->op = f->cookie & 0xffff;
		c->pad = 0;
	}
}

/*
 * The user registers saved when the thread entered the kernel. Of a thread that runs they are
 * those of its last entry: user space believes them only if the stack leads out of its calls. A
 * system call number means something only while it is in the kernel, so it is reported only for a
 * thread that is off the CPU.
 */
static __always_inline void registers(struct flight_rec *r, struct task_struct *task)
{
	struct pt_regs *c = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	r->pc = c->ip;
	r->sp = c->sp;
	r->reg[0] = c->bx;
	r->reg[1] = c->bp;
	r->reg[2] = c->r12;
	r->reg[3] = c->r13;
	r->reg[4] = c->r14;
	r->reg[5] = c->r15;
#pragma unroll
	for (int i = 6; i < NSAVED; i++)
		r->reg[i] = 0;
#else
	r->pc = c->pc;
	r->sp = c->sp;
#pragma unroll
	for (int i = 0; i < NSAVED; i++)
		r->reg[i] = c->regs[19 + i];
#endif
	r->nr = r->out ? SYSCALL_NR(c) : -1;
	r->sysarg = SYSCALL_ARG1(c);
	r->start_stack = task->pid == task->tgid ? BPF_CORE_READ(task, mm, start_stack) : 0;
	r->thread_pointer = BPF_CORE_READ(task, THREAD_POINTER);
}

/* What it waits for, as the scheduler's programs noted it; v is since the outermost call began. */
static __always_inline void waits(struct flight_rec *r, const struct thr *t, struct task_struct *task, u32 depth)
{
	r->out = t->t_out;
	r->wake = t->t_wake;
	r->in = t->t_in;
	r->class = t->class;
	r->holder = t->holder;
	r->uaddr = t->uaddr;
	r->ino = t->ino;
	r->state = kept_state(task->__state);
	r->gpu = t->gpu;
	r->role = t->role;
	r->exec = task->se.sum_exec_runtime;
#pragma unroll
	for (int i = 0; i < NCLASS; i++)
		r->v[i] = depth ? t->v[i] - t->fr[0].s.v[i] : r->silent ? t->v[i] - t->gap.v[i] : 0;
}

// One thread of the machine. The filter comes first: storage, then an old call, or an old gap. `depth` is read
// once, as the thread may change it, and bounded for the verifier. At the end the start is
// compared: if the call returned meanwhile, its frame may be another call's, and nothing is
// written; the thread is seen again in a second.
SEC("iter/task")
int flights(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 zero = 0;

	if (!task)
		return 0;
	struct thr *t = thread_of(task);
	if (!t)
		return 0;
	u64 now = bpf_ktime_get_ns(), start = t->fr[0].start;
	u32 tid = task->pid, depth = *(volatile u32 *)&t->depth;
	if (depth > DEPTH)
		depth = DEPTH;
	u64 gap = *(volatile u64 *)&t->gap_start;
	bool silent = !depth && t->role & ROLE_DISPATCH && gap && now - gap >= silent_ns;
	if (!silent && (!depth || now - start < min_ns) && !bpf_map_lookup_elem(&asked, &tid))
		return 0;
	struct flight_rec *r = bpf_map_lookup_elem(&scratch, &zero);
	if (!r)
		return 0;
	r->h = (struct hdr){ now, tid, 0, 0, depth };
	r->tgid = task->tgid;
	r->silent = silent ? gap : 0;
	waits(r, t, task, depth);
	calls(r, t, depth);
	r->h.op = depth ? r->call[0].op : 0;
	registers(r, task);
	replaced_returns(&r->returns, task);
	r->pad[0] = r->pad[1] = 0;
	r->pad2 = 0;
	/* A running thread has no current kernel stack to read, only that of its last sleep. */
	r->nstack = r->out ? bpf_get_task_stack(task, r->stack, sizeof r->stack, 0) : 0;
	__builtin_memcpy(r->comm, task->comm, COMM_LEN);
	if (depth && *(volatile u64 *)&t->fr[0].start != start)
		return 0; /* it returned meanwhile */
	if (silent && *(volatile u32 *)&t->depth)
		return 0; /* it makes a call */
	bpf_seq_write(ctx->meta->seq, r, sizeof *r);
	return 0;
}
