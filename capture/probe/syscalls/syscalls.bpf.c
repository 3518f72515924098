//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What does a process ask of the kernel, and what does it touch? Counted here, so
// that nothing is sent for a call: user space reads the maps once a second.
//
// While these programs are attached, every system call of the machine comes by.
// A thread that is nobody's business pays two tracepoints and a load; having
// storage in `marks` is the filter. Nothing runs while they are not attached.
//
// Hooks: sys_enter and sys_exit (a call counts when it returns), sched_process_fork, _exec and
// _exit (who is watched), and the task iterator (threads that exist already, and CPU times). All
// counts are of processes, so threads on several CPUs add to one row: additions are atomic, and a
// row is made with BPF_NOEXIST and looked up again, so that of two threads that make it both use
// the same. Per-CPU maps would need no atomics, but as many times the memory of each row.
// capture/probe/syscalls/read.go reads and empties the maps, and forgets processes that ended.
#include "thread.h"
#include "touch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u8 what_of[512] = {}; /* system call -> enum what, filled by the loader */

u64 visits = 0; /* of the iterator; counted by the loader */

#define IN_NONE -1 /* mark.nr of a thread that is in no system call */

// A thread that is watched, and the call it is in. Once it is made, only the thread itself writes
// it. cpu0 and exec0 are 0 for a thread that was born watched.
struct mark {
	u64 start, cpu; /* of the call it is in: when, and its on-CPU time then */
	s32 nr, pad;
	u64 cpu0, exec0; /* when it was marked: its on-CPU time, and that by the scheduler's own clock */
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mark);
} marks SEC(".maps");

// Not preallocated: the tables are large, and mostly empty. Programs of this type may allocate
// while they run (those on functions may not on all kernels: see nccl.h). A full table
// leaves out what is new, and counts it as LOSS_FOOTPRINT; nothing is evicted, because user space
// would take a row that begins again for one that went backwards.
#define HASH(map, n, K, V)                         \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_HASH);   \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__uint(max_entries, n);            \
		__type(key, K);                    \
		__type(value, V);                  \
	} map SEC(".maps")

// names and execs are emptied at each read, so they only hold what is new; the others hold totals
// until their process has ended. misses counts paths that could not be opened or executed.
HASH(call_sums, 16384, struct call_key, struct call_sum);
HASH(errnos, 4096, struct errno_key, u64);
HASH(touches, 16384, struct touch_key, struct touch);
HASH(names, 4096, struct touch_key, struct path_name);
HASH(misses, 2048, struct miss_key, u64);
HASH(execs, 1024, struct exec_key, struct exec_name);
HASH(cpu_sums, 8192, u32, struct cpu_sum);

// Processes whose threads the iterator begins to mark. Footprint.Watch fills it, runs the
// iterator, and empties it.
HASH(marked, 4096, u32, u8);

// Too large for the stack, which has 512 bytes. Of each CPU: a program is not moved to another CPU
// while it runs, and why no other one shares it is said at on_syscall.
struct scratch {
	struct path_name name;
	u8 over[256]; /* a component may begin at the end of name.b */
	struct miss_key miss;
	struct exec_name exec;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *the_scratch(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&scratches, &zero);
}

// As thread_of: one load for the threads of the machine that have no storage at all.
static __always_inline struct mark *mark_of(struct task_struct *task)
{
	if (!task->bpf_storage)
		return 0;
	return bpf_task_storage_get(&marks, task, 0, 0);
}

// How long a running thread has been on a CPU since it is accounted for. The sum in its ledger is
// as of its last switch-out; what it has run since is added. The iterator asks for threads on
// other CPUs, which may switch meanwhile: then the answer is off by that interval, until the next
// visit.
static __always_inline u64 cpu_of(struct task_struct *task, u64 now)
{
	struct thr *t = thread_of(task);

	if (!t)
		return 0;
	u64 in = t->t_in, sum = t->oncpu;
	return in && in < now && !t->t_out ? sum + (now - in) : sum;
}

/* The scheduler's clock of a running thread advances only at ticks. */
#define TICK_NS 10000000

// The same for a process's sum. Where switches were not reported, or the hypervisor ran
// somebody else, the ledger may have taken that for time on a CPU; the scheduler has not.
static __always_inline u64 cpu_since(struct task_struct *task, const struct mark *m, u64 now)
{
	u64 cpu = cpu_of(task, now), most = m->cpu0 + (task->se.sum_exec_runtime - m->exec0) + TICK_NS;

	return cpu < most ? cpu : most;
}

#include "touched.h"

// Adds a call that returned to its row. The maximum is raised by compare-and-swap, since another
// thread may raise it at the same time; after four losses it may stay too low, because a loop
// needs a bound. ERESTARTSYS to ERESTART_RESTARTBLOCK never reach the program: the kernel starts
// the call again, or returns EINTR, after the signal.
static __always_inline void sum_call(u32 tgid, u32 nr, u64 ns, u64 cpu, s64 ret)
{
	struct call_key k = { tgid, nr };
	struct call_sum *v = bpf_map_lookup_elem(&call_sums, &k);

	if (!v) {
		struct call_sum none = {};
		bpf_map_update_elem(&call_sums, &k, &none, 1 /* BPF_NOEXIST */);
		v = bpf_map_lookup_elem(&call_sums, &k);
		if (!v) {
			lose(LOSS_FOOTPRINT);
			return;
		}
	}
	__sync_fetch_and_add(&v->calls, 1);
	__sync_fetch_and_add(&v->ns, ns);
	__sync_fetch_and_add(&v->cpu, cpu);
	u64 max = v->max;
	for (int i = 0; i < 4 && ns > max; i++) { /* others may raise it meanwhile */
		u64 was = __sync_val_compare_and_swap(&v->max, max, ns);
		if (was == max)
			break;
		max = was;
	}
	if (ret >= 0 || ret < -MAX_ERRNO || (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK))
		return; /* interrupted by a signal: neither done nor failed */
	__sync_fetch_and_add(&v->errors, 1);
	struct errno_key e = { tgid, nr, -ret };
	u64 *n = bpf_map_lookup_elem(&errnos, &e), one = 1;
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (bpf_map_update_elem(&errnos, &e, &one, BPF_ANY))
		lose(LOSS_FOOTPRINT);
}

// The number is kept for the return: if the entry was not seen, the return counts nothing.
static __always_inline void begin_call(struct task_struct *task, struct mark *m, s32 nr)
{
	u64 now = bpf_ktime_get_ns();

	m->start = now;
	m->cpu = cpu_of(task, now);
	m->nr = nr;
}

// Counts the call, and what it did to files and sockets. Its arguments are still in the registers
// saved at its entry. Only now is it known whether it succeeded, how much it moved, and which
// descriptor it made.
static __always_inline void end_call(struct task_struct *task, struct mark *m, struct pt_regs *regs, s64 ret)
{
	s32 nr = m->nr;

	if (nr == IN_NONE) /* a child's first return */
		return;
	u64 now = bpf_ktime_get_ns(), cpu = cpu_of(task, now);
	m->nr = IN_NONE;
	sum_call(task->tgid, nr, now - m->start, cpu > m->cpu ? cpu - m->cpu : 0, ret);
	if (nr >= 0 && nr < 512)
		touched(task, regs, nr, ret);
}

// From kernel 7 on these two may be preempted. The kernel then leaves out the runs
// of the same program for other threads on that CPU, and counts them, as
// Footprint.Missed does; so there is nobody to share the scratch with either.
SEC("tp_btf/sys_enter")
int BPF_PROG(on_syscall, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mark *m = mark_of(task);

	if (!m)
		return 0;
	begin_call(task, m, id);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mark *m = mark_of(task);

	if (!m)
		return 0;
	end_call(task, m, regs, ret);
	return 0;
}

// A watched thread's children are watched from birth, before they run. A child's first return is
// that of the fork that made it, which it has not entered: IN_NONE.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_birth, struct task_struct *parent, struct task_struct *child)
{
	if (!mark_of(parent))
		return 0;
	struct mark *m = bpf_task_storage_get(&marks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (m)
		m->nr = IN_NONE;
	else
		lose(LOSS_THREAD);
	return 0;
}

// What a watched process executes, with the beginning of its arguments. The task has the new
// address space already, and the kernel has just written the arguments there. The mask allows
// twice the room, so that a full one is in range; the comparison after it gives the verifier the
// real bound.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_program, struct task_struct *task, int old, struct linux_binprm *bprm)
{
	struct scratch *s = the_scratch();

	if (!s || !mark_of(task))
		return 0;
	struct exec_key k = { bpf_ktime_get_ns(), task->tgid };
	long n = bpf_probe_read_kernel_str(s->exec.path, EXEC_ROOM, BPF_CORE_READ(bprm, filename));
	s->exec.path_len = n > 0 ? n : 0;
	u64 from = BPF_CORE_READ(task, mm, arg_start), len = BPF_CORE_READ(task, mm, arg_end) - from;
	if (len > EXEC_ROOM)
		len = EXEC_ROOM;
	barrier_var(len);
	len &= 2 * EXEC_ROOM - 1;
	if (len > EXEC_ROOM || bpf_probe_read_user(s->exec.args, len, (void *)from))
		len = 0;
	s->exec.args_len = len;
	if (bpf_map_update_elem(&execs, &k, &s->exec, BPF_ANY))
		lose(LOSS_FOOTPRINT);
	return 0;
}

// The row of a process's CPU time; made if there is none, null if there is no room.
static __always_inline struct cpu_sum *cpu_sum_of(u32 tgid)
{
	struct cpu_sum *c = bpf_map_lookup_elem(&cpu_sums, &tgid), none = {};

	if (c)
		return c;
	bpf_map_update_elem(&cpu_sums, &tgid, &none, 1 /* BPF_NOEXIST */);
	c = bpf_map_lookup_elem(&cpu_sums, &tgid);
	if (!c)
		lose(LOSS_FOOTPRINT);
	return c;
}

// A thread that ends is in a call that does not return: exit, or the one in which
// it was killed. The mark is deleted, so that an iterator that still finds the task does not count
// its time as that of a living thread, too.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *task)
{
	struct mark *m = mark_of(task);

	if (!m)
		return 0;
	u64 now = bpf_ktime_get_ns(), cpu = cpu_of(task, now);
	if (m->nr != IN_NONE)
		sum_call(task->tgid, m->nr, now - m->start, cpu > m->cpu ? cpu - m->cpu : 0, 0);
	struct cpu_sum *c = cpu_sum_of(task->tgid);
	if (c)
		__sync_fetch_and_add(&c->ended, cpu_since(task, m, now));
	bpf_task_storage_delete(&marks, task);
	return 0;
}

// Marks the threads of the processes in `marked`, and adds up the time of all that are marked. The
// first thread of a process in a visit clears its sum; `visits` says which visit it is. A process
// without a thread in this visit keeps the old number, and its sum is not read. A thread that is
// asleep in a call is marked as in it: the call began earlier, but counts from now.
SEC("iter/task")
int visit(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	u32 tgid = task->tgid;
	u64 now = bpf_ktime_get_ns();
	struct mark *m = bpf_task_storage_get(&marks, task, 0, 0);
	if (!m) {
		if (!bpf_map_lookup_elem(&marked, &tgid))
			return 0;
		m = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!m) {
			lose(LOSS_THREAD);
			return 0;
		}
		struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);
		s32 nr = SYSCALL_NR(r);
		/* Asleep in a call: counted from now on. */
		m->start = now;
		m->cpu0 = cpu_of(task, now);
		m->exec0 = BPF_CORE_READ(task, se.sum_exec_runtime);
		m->nr = BPF_CORE_READ(task, __state) && nr >= 0 ? nr : IN_NONE;
	}
	struct cpu_sum *c = cpu_sum_of(tgid);
	if (!c)
		return 0;
	if (c->visit != visits) {
		c->visit = visits;
		c->living = 0;
	}
	c->living += cpu_since(task, m, now);
	return 0;
}
