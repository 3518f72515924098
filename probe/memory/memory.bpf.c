//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How long did an accounted thread reclaim memory, or move it together, before it
// got what it asked for? One reclaim takes 10 us to some ms, and under a limit
// the next follows at once: what follows within MERGE_NS is one span, reported
// when it is worth it.
#include "thread.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MERGE_NS 1000000 /* between two parts of a span */
#define LEAST_NS 50000   /* reclaim in a span that is reported */
#define SPAN_NS 1000000  /* a span this long is not put off any longer */

static __always_inline void report(struct thr *t, struct task_struct *task)
{
	if (t->reclaim && t->reclaim_ns >= LEAST_NS) {
		struct reclaim_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
		if (r) {
			r->h = (struct hdr){ t->reclaim_start, task->pid, 0, KIND_RECLAIM, t->reclaim };
			r->dur = t->reclaim_end - t->reclaim_start;
			r->ns = t->reclaim_ns;
			r->tgid = task->tgid;
			r->parts = t->reclaim_parts;
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		} else {
			lose(LOSS_RECLAIM);
		}
	}
	t->reclaim = t->reclaim_parts = 0;
	t->reclaim_ns = 0;
}

static __always_inline int begin(u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);

	if (!t || t->reclaim_in)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (t->reclaim && (t->reclaim != kind || now - t->reclaim_end > MERGE_NS))
		report(t, task);
	if (!t->reclaim)
		t->reclaim_start = now;
	t->reclaim = kind;
	t->reclaim_in = now;
	return 0;
}

static __always_inline int end(u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thr *t = thread_of(task);

	if (!t || !t->reclaim_in || t->reclaim != kind)
		return 0;
	u64 now = bpf_ktime_get_ns();
	t->reclaim_ns += now - t->reclaim_in;
	t->reclaim_parts++;
	t->reclaim_end = now;
	t->reclaim_in = 0;
	if (t->reclaim_ns >= LEAST_NS && now - t->reclaim_start >= SPAN_NS)
		report(t, task);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int direct_begin(void *ctx) { return begin(RECLAIM_DIRECT); }

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int direct_end(void *ctx) { return end(RECLAIM_DIRECT); }

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int memcg_begin(void *ctx) { return begin(RECLAIM_MEMCG); }

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int memcg_end(void *ctx) { return end(RECLAIM_MEMCG); }

SEC("tp_btf/mm_compaction_begin")
int compact_begin(void *ctx) { return begin(RECLAIM_COMPACT); }

SEC("tp_btf/mm_compaction_end")
int compact_end(void *ctx) { return end(RECLAIM_COMPACT); }
