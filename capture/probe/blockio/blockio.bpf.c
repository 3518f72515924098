//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Which requests did block devices get, from whom, how long did they wait for the
// device and how long did it take? Every request counts in a sum per second,
// process and device. One by one are recorded those of accounted threads, and slow
// ones of anybody, both up to a rate.
//
// Hooks, in the order of a request's life: block_rq_insert (queued; not every request is),
// block_rq_issue (given to the device), block_rq_complete (perhaps in parts, in the
// interrupt of any task). writeback_mark_inode_dirty tells who wrote to a file that
// the kernel writes to the device later. Requests in progress are in `flights`, sums in
// `request_sums`, which capture/probe/blockio/sums.go empties; records go to `events`
// (capture/probe/decode_host.go). blockio.go checks that the first argument of each
// tracepoint is what is expected here: before 5.11 it was the queue.
#include "thread.h"
#include "ops.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 self_tgid = 0;
const volatile u32 per_second = 1000;     /* requests recorded of a CPU, and as many slow ones */
const volatile u64 slow_ns = 10000000;

/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_ZONE_APPEND 7
#define REQ_OP_WRITE_ZEROES 9
#define REQ_SYNC (1 << 11)
#define REQ_META (1 << 12)
#define REQ_FUA (1 << 17)
#define REQ_PREFLUSH (1 << 18)
#define REQ_RAHEAD (1 << 19)

// Who a request is for. Copied when it is made: at its end somebody else runs, and its maker may
// be gone.
struct who {
	u32 tgid, tid;
	u32 by; /* the kernel's thread, if it acts for another one */
	u16 kernel; /* made by a thread of the kernel */
	u16 ours; /* accounted for */
	char comm[COMM_LEN];
};

// A request that is not done yet, by the address of the kernel's struct request. That memory is
// used again for later requests of the device: an entry is deleted at the end, and one that was
// left over, since an end was not reported, is replaced when the memory is used again. At any
// moment one CPU has the request, so an entry has one writer. If the map is full, the request
// counts as LOSS_REQUEST; an LRU map would drop one in silence.
struct flight {
	u64 made, issued; /* 0 not yet */
	u64 sector, ino;
	u32 bytes, done;
	u32 swap, pad;
	struct who who;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64); /* its address */
	__type(value, struct flight);
} flights SEC(".maps");

// Who wrote to a file last, by the address of its inode: when the kernel writes it
// to the device, it is for them. The address may be that of another inode by then, so the
// number is compared. LRU: a file that is not in it any more counts as the kernel's own writing.
struct dirtier {
	u64 ino;
	struct who who;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

// Sums of a second: read once it is over. The second is that of the end of a request, so that no
// row changes long after it; sums.go waits one second more for programs that have read the clock
// before the second ended.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct request_key);
	__type(value, struct request_sum);
} request_sums SEC(".maps");

// What a CPU has recorded in its current second. Slow requests have a limit of their own, so that
// many quick ones of a traced process cannot displace them. Beyond it: LOSS_REQUEST_THINNED.
struct rate {
	u64 second;
	u32 slow, others;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rate);
} rates SEC(".maps");

// The current task, as the maker of a request or the writer of a file.
static __always_inline void fill_who(struct who *w)
{
	struct task_struct *task = bpf_get_current_task_btf();

	w->tgid = task->tgid;
	w->tid = task->pid;
	w->by = 0;
	w->kernel = (task->flags & PF_KTHREAD) != 0;
	w->ours = thread_of(task) != 0;
	__builtin_memcpy(w->comm, task->comm, COMM_LEN);
}

// The first page of a request, or that of the large folio that it is in; null if it
// carries none.
static __always_inline struct page *page_of(struct request *rq)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);
	struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	struct page *page = 0;
	u32 i = BPF_CORE_READ(bio, bi_iter.bi_idx);

	if (!bio || !vec || !bpf_core_field_exists(page->mapping))
		return 0;
	/* The kernel's own size of an element, not that of the one declared here. */
	bpf_probe_read_kernel(&page, sizeof page, (void *)vec + (u64)i * bpf_core_type_size(struct bio_vec) + bpf_core_field_offset(vec->bv_page));
	if (!page)
		return 0;
	if (bpf_core_field_exists(page->compound_head)) {
		unsigned long head = BPF_CORE_READ(page, compound_head);
		if (head & 1) /* a later page of a large folio */
			page = (struct page *)(head - 1);
	}
	return page;
}

// The file that a page is of, null if it is of none: of a process (O_DIRECT), or of a
// file system's own. The low bits of `mapping` say that it is no address_space.
static __always_inline struct inode *inode_of(struct page *page)
{
	struct address_space *mapping = BPF_CORE_READ(page, mapping);
	if (!mapping || (u64)mapping & 3) /* of memory, not of a file */
		return 0;
	struct inode *inode = BPF_CORE_READ(mapping, host);
	if (!inode || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	return inode;
}

// Memory on its way to swap, or back, is in the swap cache (PageSwapCache of
// include/linux/page-flags.h). Its flags are a page's first word, from 6.18 on inside a
// structure.
static __always_inline bool in_swap_cache(struct page *page)
{
	unsigned long flags = 0;

	if (!bpf_core_enum_value_exists(enum pageflags, PG_swapcache) || !bpf_core_enum_value_exists(enum pageflags, PG_swapbacked))
		return false;
	bpf_probe_read_kernel(&flags, sizeof flags, page);
	return flags & 1ul << bpf_core_enum_value(enum pageflags, PG_swapcache) &&
	       flags & 1ul << bpf_core_enum_value(enum pageflags, PG_swapbacked);
}

// Notes what is only there until the device has the request, and whom it is for. At the end the
// pages may be free or of another file already, and __data_len counts down. If a thread of the
// kernel made the request (write-back, a journal), it is for who wrote to the file last.
static __always_inline void look(struct flight *f, struct request *rq)
{
	struct page *page = page_of(rq);
	struct inode *inode = page ? inode_of(page) : 0;

	f->swap = page && !inode && in_swap_cache(page);
	f->bytes = BPF_CORE_READ(rq, __data_len);
	f->sector = BPF_CORE_READ(rq, __sector);
	f->ino = inode ? BPF_CORE_READ(inode, i_ino) : 0;
	if (!f->who.kernel || !inode)
		return;
	u64 key = (u64)inode;
	struct dirtier *d = bpf_map_lookup_elem(&dirtiers, &key);
	if (!d || d->ino != f->ino)
		return;
	f->who.by = f->who.tid;
	f->who.tgid = d->who.tgid;
	f->who.tid = d->who.tid;
	f->who.ours = d->who.ours;
	__builtin_memcpy(f->who.comm, d->who.comm, COMM_LEN);
}

// Begins a request of the current task. BPF_ANY: replaces what an earlier use of the memory left.
static __always_inline struct flight *fly(u64 key, u64 now)
{
	struct flight f = {};

	f.made = now;
	fill_who(&f.who);
	if (bpf_map_update_elem(&flights, &key, &f, BPF_ANY)) {
		lose(LOSS_REQUEST);
		return 0;
	}
	return bpf_map_lookup_elem(&flights, &key);
}

// A request that waits for its turn: here it is still its maker who runs.
SEC("tp_btf/block_rq_insert")
int rq_insert(u64 *ctx)
{
	fly(ctx[0], bpf_ktime_get_ns());
	return 0;
}

// The device gets the request. Without an insertion its maker runs here, since it was given to the
// device at once; with one, perhaps a thread of the kernel does, and `who` is from the insertion.
// start_time_ns is by the same clock, and somewhat before the insertion; more than a minute is not
// believed.
SEC("tp_btf/block_rq_issue")
int rq_issue(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u64 key = ctx[0], now = bpf_ktime_get_ns();
	struct flight *f = bpf_map_lookup_elem(&flights, &key);
	u64 made = BPF_CORE_READ(rq, start_time_ns); /* 0 if the device keeps no statistics */
	bool again = f && f->issued && made && made == f->made; /* the device had no room for it at first */

	if (f && f->issued && made && !again) /* an earlier use of the memory, whose end the kernel did not report */
		lose(LOSS_REQUEST);
	if (!f || (f->issued && !again)) /* not inserted: its maker is here */
		f = fly(key, now);
	if (!f)
		return 0;
	if (made && made < f->made && now - made < 60000000000)
		f->made = made;
	f->issued = now;
	look(f, rq);
	return 0;
}

// A write goes on to the next case unless it is to swap.
static __always_inline u16 op_of_request(u32 cmd, bool swap)
{
	switch (cmd & REQ_OP_MASK) {
	case REQ_OP_READ:
		return swap ? OP_swap_in : OP_block_read;
	case REQ_OP_WRITE:
		if (swap)
			return OP_swap_out;
	case REQ_OP_ZONE_APPEND:
		return OP_block_write;
	case REQ_OP_FLUSH:
		return OP_block_flush;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return OP_block_discard;
	}
	return OP_block_other;
}

// The bits of event.RequestFlags, which do not change when the kernel's do.
static __always_inline u8 flags_of(u32 cmd)
{
	return (cmd & REQ_SYNC ? 1 : 0) | (cmd & REQ_META ? 2 : 0) | (cmd & REQ_FUA ? 4 : 0) |
	       (cmd & REQ_PREFLUSH ? 8 : 0) | (cmd & REQ_RAHEAD ? 16 : 0);
}

// A row of sums; made if there is none. Two CPUs that make it both get the one that was first.
static __always_inline struct request_sum *sum_of(struct request_key *k, const char *comm)
{
	struct request_sum *s = bpf_map_lookup_elem(&request_sums, k);

	if (s)
		return s;
	struct request_sum none = {};
	if (comm)
		__builtin_memcpy(none.comm, comm, COMM_LEN);
	bpf_map_update_elem(&request_sums, k, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&request_sums, k);
}

// Counts a request that is done. The maximum is raised by compare-and-swap; after four losses
// against other CPUs it may stay too low, because the verifier wants a bound.
static __always_inline void sum_up(struct flight *f, u32 dev, u16 op, u8 status, u64 now)
{
	struct request_key k = { now / 1000000000, f->who.tgid, dev, op, 0 };
	struct request_sum *s = sum_of(&k, f->who.comm);

	if (!s) { /* too many processes: the device's sums are still right */
		k.tgid = 0;
		s = sum_of(&k, 0);
	}
	if (!s) {
		lose(LOSS_REQUEST);
		return;
	}
	u64 queue = f->issued - f->made, device = now - f->issued, all = queue + device;
	__sync_fetch_and_add(&s->requests, 1);
	__sync_fetch_and_add(&s->bytes, f->bytes);
	__sync_fetch_and_add(&s->queue, queue);
	__sync_fetch_and_add(&s->device, device);
	if (status)
		__sync_fetch_and_add(&s->errors, 1);
	for (int i = 0; i < 4; i++) {
		u64 max = *(volatile u64 *)&s->max;
		if (all <= max || __sync_val_compare_and_swap(&s->max, max, all) == max)
			break;
	}
}

// May this CPU record another request in this second? An interrupt between the load and the store
// may lose an increment: then one record more is allowed.
static __always_inline bool may_record_request(u64 dur, u64 now)
{
	u32 zero = 0;
	struct rate *r = bpf_map_lookup_elem(&rates, &zero);

	if (!r)
		return false;
	if (now - r->second > 1000000000) {
		r->second = now;
		r->slow = r->others = 0;
	}
	return dur >= slow_ns ? r->slow++ < per_second : r->others++ < per_second;
}

// Records a request one by one. Those of the tracer itself are in the sums only: recording its
// writes would make it write more.
static __always_inline void emit(struct flight *f, u32 cmd, u32 dev, u16 op, u8 status, u64 now)
{
	u64 dur = now - f->made;

	if (f->who.tgid == self_tgid || (!f->who.ours && dur < slow_ns)) /* in the sums only */
		return;
	if (!may_record_request(dur, now)) {
		lose(LOSS_REQUEST_THINNED);
		return;
	}
	struct request_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);
	if (!r) {
		lose(LOSS_REQUEST);
		return;
	}
	r->h = (struct hdr){ f->made, f->who.tid, op, KIND_REQUEST, flags_of(cmd) };
	r->dur = dur;
	r->queue = f->issued - f->made;
	r->sector = f->sector;
	r->ino = f->ino;
	r->tgid = f->who.tgid;
	r->dev = dev;
	r->bytes = f->bytes;
	r->by = f->who.by;
	r->status = status;
	__builtin_memset(r->pad, 0, sizeof r->pad);
	__builtin_memcpy(r->comm, f->who.comm, COMM_LEN);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

// The device's number as in the kernel's dev_t, 20 bits of minor; 0 unknown. The disk moved from
// the request to its queue in 5.15 to 5.17.
static __always_inline u32 device_of(struct request *rq)
{
	struct gendisk *disk = 0;

	if (bpf_core_field_exists(rq->q->disk))
		disk = BPF_CORE_READ(rq, q, disk);
	else if (bpf_core_field_exists(rq->rq_disk))
		disk = BPF_CORE_READ(rq, rq_disk);
	if (!disk)
		return 0;
	return (u32)BPF_CORE_READ(disk, major) << 20 | (u32)BPF_CORE_READ(disk, first_minor);
}

// A request, or part of it, is done. Only the entry knows who it was for: the current task is the
// one that was interrupted. An error ends it whatever its length. Requests that were issued before
// tracing have no entry, and are left out; they are no loss.
SEC("tp_btf/block_rq_complete")
int rq_complete(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u64 key = ctx[0], now = bpf_ktime_get_ns();
	s32 error = (s32)ctx[1]; /* blk_status_t from 5.16 on, before an errno */
	u32 done = (u32)ctx[2];
	struct flight *f = bpf_map_lookup_elem(&flights, &key);

	if (!f || !f->issued) /* made before tracing began */
		return 0;
	f->done += done;
	u8 status = error < 0 ? (u8)-error : (u8)error;
	if (f->done < f->bytes && !status) /* the rest of it comes later */
		return 0;
	u32 cmd = BPF_CORE_READ(rq, cmd_flags), dev = device_of(rq);
	u16 op = op_of_request(cmd, f->swap);
	sum_up(f, dev, op, status, now);
	emit(f, cmd, dev, op, status, now);
	bpf_map_delete_elem(&flights, &key);
	return 0;
}

// Who writes to a file (__mark_inode_dirty, also for each piece of the page cache that
// becomes dirty; writeback_dirty_inode tells only of times and sizes, and not of those
// that stay as they are): an accounted thread, or the tracer. Others' writes cost the
// look at whether their thread is accounted for, and are recorded as the kernel's. A thread that
// goes on writing to its file finds itself, and updates nothing.
SEC("tp_btf/writeback_mark_inode_dirty")
int dirty_inode(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = (struct inode *)ctx[0];
	u64 key = ctx[0];

	if (!thread_of(task) && task->tgid != self_tgid)
		return 0;
	u64 ino = BPF_CORE_READ(inode, i_ino);
	struct dirtier *d = bpf_map_lookup_elem(&dirtiers, &key);
	if (d && d->who.tid == task->pid && d->ino == ino)
		return 0;
	struct dirtier n = { .ino = ino };
	fill_who(&n.who);
	bpf_map_update_elem(&dirtiers, &key, &n, BPF_ANY);
	return 0;
}
