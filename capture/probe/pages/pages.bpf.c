//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Who is given memory? Counted for each process, and on each CPU apart, so that a page
// costs as little as can be; user space reads the counts once a second. While this is
// attached every page of the machine comes by.
//
// Hook: mm_page_alloc, in the context of the allocation, which may be an interrupt: then the
// process that was interrupted has it. If an interrupt allocates while this runs on the same CPU,
// the kernel leaves out the second run and counts it (Counter.Missed).
// capture/probe/pages/counter.go reads the maps, and deletes processes that ended.
#include "thread.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ___GFP_DIRECT_RECLAIM of include/linux/gfp_types.h: the allocation may wait. */
#define MAY_WAIT 0x400
#define MAX_ORDER 63 /* far above any kernel's; bounds the shift */

/*
 * Running totals of a process on one CPU; user space adds up the CPUs, and subtracts the last
 * reading.
 */
struct page_sum {
	u64 allocations, pages;
	u64 nowait; /* of pages, for allocations that must not wait, such as in interrupts */
	u64 failed; /* allocations that failed */
};

/*
 * Preallocated: nothing may be allocated during an allocation. Per CPU, so that counting needs no
 * atomic instruction.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32); /* process */
	__type(value, struct page_sum);
} page_sums SEC(".maps");

/*
 * The names of processes, apart from the sums: a per-CPU map would keep a name for each CPU. /proc
 * has no name of a process that ended.
 */
struct page_owner {
	char comm[COMM_LEN];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct page_owner);
} page_owners SEC(".maps");

/*
 * A process gets another name if it executes a program. So its name is taken again at every 64th
 * allocation on a CPU: a power of two, for a mask instead of a division.
 */
#define NAME_EVERY 64

/* Notes the name of a process: that of its first thread, as in /proc/PID/comm. */
static __always_inline void name_owner(struct task_struct *task, u32 tgid)
{
	struct page_owner o;

	BPF_CORE_READ_INTO(&o.comm, task, group_leader, comm);
	bpf_map_update_elem(&page_owners, &tgid, &o, BPF_ANY); /* without it, it has no name */
}

/* The sum of a process on this CPU. Process 0 stands for those for which there is no room. */
static __always_inline struct page_sum *sum_of(struct task_struct *task, u32 tgid)
{
	struct page_sum *s = bpf_map_lookup_elem(&page_sums, &tgid), none = {};
	u32 others = 0;

	if (s)
		return s;
	if (!bpf_map_update_elem(&page_sums, &tgid, &none, BPF_NOEXIST))
		name_owner(task, tgid);
	s = bpf_map_lookup_elem(&page_sums, &tgid); /* another CPU may have made it */
	return s ? s : bpf_map_lookup_elem(&page_sums, &others);
}

// ctx: the page, null if the allocation failed; its order; its flags.
SEC("tp_btf/mm_page_alloc")
int page_alloc(u64 *ctx)
{
	u64 order = (u32)ctx[1], flags = (u32)ctx[2];
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tgid = task->tgid;
	struct page_sum *s = sum_of(task, tgid);

	if (!s) {
		lose(LOSS_PAGES);
		return 0;
	}
	if (!(++s->allocations & (NAME_EVERY - 1)))
		name_owner(task, tgid);
	if (!ctx[0]) {
		s->failed++;
		return 0;
	}
	u64 n = 1ull << (order & MAX_ORDER);
	s->pages += n;
	if (!(flags & MAY_WAIT))
		s->nowait += n;
	return 0;
}
