//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How long did an accounted thread reclaim memory, or move it together, before it
// got what it asked for? One reclaim takes 10 us to some ms, and under a limit
// the next follows at once: what follows within MERGE_NS is one span, reported
// when it is worth it.
//
// Hooks: begin and end of direct reclaim, of reclaim at a control group's limit, and of
// compaction, each in the thread that does it, and mark_victim. memory.go attaches the pairs
// that the kernel has. The span in progress is in struct thr, so there is no map to look up, and
// only the thread itself changes it. Spans go to `events` (capture/probe/decode_host.go), killed
// processes to oom_ring.
#include "thread.h"
#include "ops.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Filled by the loader: from 6.8 on mark_victim passes the task, before only its number. */
const volatile bool victim_is_task = 0;

/* Processes that the kernel killed: a ring of their own, so that many process starts
 * and exits cannot fill it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10); /* a page of arm64 at most */
} oom_ring SEC(".maps");

#define MERGE_NS 1000000 /* between two parts of a span */
#define LEAST_NS 50000   /* reclaim in a span that is reported */
#define SPAN_NS 1000000  /* a span this long is reported without further delay */

// Reports the span so far if there was enough reclaim in it, and begins anew. Less than LEAST_NS
// is left out, and is no loss.
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

// A part of a span begins. Within another part (compaction in direct reclaim) it is part of that.
// A span that cannot be continued is reported now; until then nobody knows that it is over. The
// last one of a thread, if shorter than SPAN_NS, is not reported if no other follows.
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

// The part ends. Another kind is the end of one that begin() has left out. A span that is long
// already is reported at once: under a limit reclaims follow each other without end.
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

// The kernel ends a process because memory has run out. For every process: it is rare, and who
// vanished is what matters. The current task is the one that asked for memory. Before 6.8 only the
// number is passed, so that there is no name.
SEC("tp_btf/mark_victim")
int victim(u64 *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	struct life_rec *r = bpf_ringbuf_reserve(&oom_ring, sizeof *r, 0);

	if (!r) {
		lose(LOSS_LIFE);
		return 0;
	}
	r->h = (struct hdr){ bpf_ktime_get_ns(), 0, OP_oom_kill, KIND_LIFE, LIFE_OOM };
	__builtin_memset(r->comm, 0, COMM_LEN);
	if (victim_is_task) {
		struct task_struct *task = (struct task_struct *)ctx[0];
		r->h.tid = r->tgid = BPF_CORE_READ(task, tgid);
		BPF_CORE_READ_INTO(&r->comm, task, comm);
	} else {
		r->h.tid = r->tgid = (u32)ctx[0];
	}
	r->ptid = id;
	r->ptgid = id >> 32;
	r->pad = 0;
	r->dur = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}
