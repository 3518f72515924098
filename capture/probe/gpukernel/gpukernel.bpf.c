//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What is the kernel called that a launch names by a pointer? The attach cookie
// says which function is called: enum name. Of __cudaRegisterFunction (crt/host_runtime.h
// of CUDA: handle, host function, device function, name, …) the entry says all; of
// those that look a kernel up (cuda.h: out, module or library, name; out, kernel; and
// cuda_runtime_api.h: out, host function) the result is in memory at return.
//
// These functions are called when code is loaded, not at a launch. Their probes have links of
// their own, also with the session back end (capture/probe/gpukernels.go). The records go to the
// ring `names`; package probe drains it before the calls, so that a kernel has its name when it is
// launched.
#include "thread.h"
#include "hold.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 self_tgid = 0; /* the tracer: never traced */

#define WAKE_BYTES (128 << 10) /* waiting in the ring: time for the reader to come */
#define TEXT_BYTES (256 << 10) /* waiting in the ring: no more text; libtorch registers 24,000 names at once */
#define BRIEF __builtin_offsetof(struct name_rec, name)

/*
 * Names come in thousands when a program starts; they must displace nothing else. Not woken for
 * each: it is drained with the others, and the reader is only woken when much is waiting
 * (NamesFD).
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} names SEC(".maps");

/* A look-up in progress, between its entry and its return. */
struct lookup {
	u64 out, from; /* where the result will be; name, or kernel */
};

struct lookup_key {
	u64 id;
	u64 kind; /* look-ups of different kinds may nest */
};

/*
 * By thread. LRU, because an entry stays if its function is left by a jump or its thread ends in
 * it. If the thread's id is used again, the next entry of that kind replaces it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct lookup_key);
	__type(value, struct lookup);
} lookups SEC(".maps");

/* Wakes the reader for every record beyond WAKE_BYTES, until it has come. */
static __always_inline u64 wakeup(void)
{
	return bpf_ringbuf_query(&names, BPF_RB_AVAIL_DATA) > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* All but the text. */
static __always_inline void fill(struct name_rec *r, u64 id, u8 kind, u64 func, u64 from)
{
	r->h = (struct hdr){ bpf_ktime_get_ns(), id, 0, KIND_NAME, kind };
	r->func = func;
	r->from = from;
	r->tgid = id >> 32;
	r->len = 0;
}

/*
 * A name that did not fit. Another size of record, since a reservation has a constant size and a
 * page for each name would soon fill the ring. The longest are cut off.
 */
static __always_inline void tell_long(u64 id, u8 kind, u64 func, u64 from)
{
	struct name_long_rec *l = bpf_ringbuf_reserve(&names, sizeof *l, 0);
	if (!l) {
		lose(LOSS_NAME);
		return;
	}
	fill(&l->n, id, kind, func, from);
	l->n.len = bpf_probe_read_user_str(l->n.name, NAME_SHORT + NAME_MORE, (void *)from);
	bpf_ringbuf_submit(l, wakeup());
}

/*
 * Reports the address of a name, not its text: user space can read it there, from the process
 * while it lives. The record ends before the text.
 */
static __always_inline void tell_where(u64 id, u8 kind, u64 func, u64 from)
{
	struct name_rec *r = bpf_ringbuf_reserve(&names, BRIEF, 0);
	if (!r) {
		lose(LOSS_NAME);
		return;
	}
	fill(r, id, kind, func, from);
	bpf_ringbuf_submit(r, wakeup());
}

/*
 * A name that cannot be read, because its page has not been touched yet, is reported
 * without text; so are names that come faster than they are drained. That a name is too long is
 * known only after it was read into the record, which is then discarded.
 */
static __always_inline void tell(u64 id, u8 kind, u64 func, u64 from)
{
	if (kind == NAME_SAME || bpf_ringbuf_query(&names, BPF_RB_AVAIL_DATA) > TEXT_BYTES) {
		tell_where(id, kind, func, from);
		return;
	}
	struct name_rec *r = bpf_ringbuf_reserve(&names, sizeof *r, 0);
	if (!r) {
		lose(LOSS_NAME);
		return;
	}
	fill(r, id, kind, func, from);
	r->len = bpf_probe_read_user_str(r->name, sizeof r->name, (void *)from);
	if (r->len == sizeof r->name) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		tell_long(id, kind, func, from);
		return;
	}
	bpf_ringbuf_submit(r, wakeup());
}

/* The entry of one of the functions; `kind` is the attach cookie. */
static __always_inline int enter(struct pt_regs *c, u64 kind)
{
	u64 id = bpf_get_current_pid_tgid(), second = PT_REGS_PARM2(c), third = PT_REGS_PARM3(c);

	/* Registers are to be read at fixed offsets, not at one that depends on kind. */
	barrier_var(second);
	barrier_var(third);
	if (id >> 32 == self_tgid)
		return 0;
	if (kind == NAME_REGISTERED) {
		tell(id, kind, second, PT_REGS_PARM4(c));
		return 0;
	}
	struct lookup_key k = { id, kind };
	struct lookup l = { PT_REGS_PARM1(c), kind == NAME_SAME ? second : third };
	bpf_map_update_elem(&lookups, &k, &l, BPF_ANY);
	return 0;
}

/*
 * The return of a look-up. Without an entry the call is older than the probe. A call that failed
 * has no result, and is only forgotten.
 */
static __always_inline int leave(struct pt_regs *c, u64 kind)
{
	struct lookup_key k = { bpf_get_current_pid_tgid(), kind };
	struct lookup *l = bpf_map_lookup_elem(&lookups, &k);
	u64 func = 0;

	if (!l)
		return 0;
	if (!(s32)PT_REGS_RC(c))
		bpf_probe_read_user(&func, sizeof func, (void *)l->out);
	/* NVIDIA's __cudaGetKernel returns the host function itself. */
	if (func && !(kind == NAME_SAME && func == l->from))
		tell(k.id, kind, func, l->from);
	bpf_map_delete_elem(&lookups, &k);
	return 0;
}

/* Both halves run with preemption off: see hold.h. */
static __always_inline int held(int (*half)(struct pt_regs *, u64), struct pt_regs *c)
{
	hold_cpu();
	half(c, bpf_get_attach_cookie(c));
	release_cpu();
	return 0;
}

SEC("uprobe.multi/name")
int multi_enter(struct pt_regs *c) { return held(enter, c); }

SEC("uretprobe.multi/name")
int multi_return(struct pt_regs *c) { return held(leave, c); }

SEC("uprobe/name")
int perf_enter(struct pt_regs *c) { return held(enter, c); }

SEC("uretprobe/name")
int perf_return(struct pt_regs *c) { return held(leave, c); }
