/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Arguments of NCCL's functions, and which collective of its communicator a call is.
 * Types are those of nccl.h of NCCL 2.x. The number is counted here and not in user
 * space, because a dropped record would shift it, and the ranks' calls would
 * then be matched wrongly.
 *
 * The number is taken at the return, of calls that succeeded. NCCL wants a communicator to be
 * used by one thread at a time, so the returns are in the order of the calls.
 * account/collective/collective.go unpacks arg[1] and arg[2], and matches the ranks.
 */
#ifndef INGERO_NCCL_H
#define INGERO_NCCL_H
#include "thread.h"
#include "ops.h"

#define UNIQUE_ID_WORDS 16 /* NCCL_UNIQUE_ID_BYTES is 128 */
#define TYPE_SHIFTS 0x001321332200ull /* log2 of each ncclDataType_t's size, 4 bits each, from int8 */

/* Lanes: what is counted separately in a communicator. */
#define ALL_RANKS 0
#define TO_RANK 0x10000   /* | peer */
#define FROM_RANK 0x20000 /* | peer */

/*
 * Calls between all ranks are counted in one row, those with each peer in others: only the
 * two ranks of a pair make its sends and receives, so no other rank can count them. The
 * handle is an address, so a process is part of the key.
 */
struct comm_key {
	u64 comm;
	u32 tgid, lane;
};
struct comm_count {
	u64 born; /* when the communicator was made, 0 if not seen: its handle may be reused */
	u64 n;
};
/*
 * A plain hash, not LRU: a counter that was evicted would begin again at 1, and match the wrong
 * calls. Instead a full map leaves further communicators without numbers (LOSS_COMM).
 * Tracer.ForgetComms drops those of processes that ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* allocated at once: kernels before 6.1 warn of anything else here */
	__type(key, struct comm_key);
	__type(value, struct comm_count);
} comms SEC(".maps");

/*
 * ncclUniqueId begins with a random number; all of it is hashed, in case that changes. It is the hash that other
 * programs of a cluster send as nccl.comm_id_hash.
 */
static __always_inline u64 id_hash(u64 addr)
{
	u64 id[UNIQUE_ID_WORDS] = {}, h = 0x9e3779b97f4a7c15ull;

	if (bpf_probe_read_user(id, sizeof id, (void *)addr))
		return 0;
#pragma unroll
	for (int i = 0; i < UNIQUE_ID_WORDS; i++) {
		h ^= id[i];
		h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
		h = (h ^ h >> 27) * 0x94d049bb133111ebull;
		h ^= h >> 31;
	}
	return h ? h : 1; /* 0: not known */
}

/* ncclCommInitRank(out, ranks, id by value, rank): 128 bytes are too many for registers. */
static __always_inline void nccl_init(struct frame *f, struct pt_regs *c)
{
	f->arg[0] = 0;
	f->arg[1] = (u32)PT_REGS_PARM2(c);
#if defined(__TARGET_ARCH_x86)
	f->arg[2] = (u32)PT_REGS_PARM3(c);
	f->arg[3] = id_hash(STACK_ARGS(c)); /* by value, in memory */
#else
	f->arg[2] = (u32)PT_REGS_PARM4(c);
	f->arg[3] = id_hash(PT_REGS_PARM3(c)); /* by value: a pointer to a copy */
#endif
	f->out = PT_REGS_PARM1(c);
}

/*
 * Instead of the address of a result, the call's frame gets the row to be counted in, + 1: such a
 * call has no result in memory, and 0 means none is wanted. arg[1] is bytes, or the count of a
 * type that is not known. arg[2] gets the number into its low 32 bits at the return; above
 * it are type, reduction and peer or root, which is cut to 16 bits.
 */
static __always_inline void nccl_call(struct frame *f, u64 comm, u64 count, u32 type, u32 op, u32 peer, u64 stream, u32 lane)
{
	f->arg[0] = comm;
	f->arg[1] = type < 12 ? count << (TYPE_SHIFTS >> (type * 4) & 15) : count;
	f->arg[2] = (u64)(type & 0xff) << 32 | (u64)(op < 5 ? op : 0xff) << 40 | (u64)(u16)peer << 48;
	f->arg[3] = stream;
	f->out = (u64)lane + 1;
}

/*
 * Parameters of each shape are in event/catalog.go. Registers are read before the switch, at
 * fixed offsets. Not inlined: other calls do not need it, and code size slows every call.
 */
static __attribute__((noinline)) int nccl_args(struct frame *f, struct pt_regs *c, u32 shape)
{
	u64 p2 = PT_REGS_PARM2(c), p3 = PT_REGS_PARM3(c), p4 = PT_REGS_PARM4(c), p5 = PT_REGS_PARM5(c), p6 = P6(c);

	if (!f)
		return 0;
	switch (shape) {
	case SHAPE_INIT_RANK:
		nccl_init(f, c);
		break;
	case SHAPE_INIT_ALL:
		f->arg[0] = 0;
		f->arg[1] = (u32)p2;
		f->arg[2] = f->arg[3] = 0;
		f->out = PT_REGS_PARM1(c);
		break;
	case SHAPE_ALL_REDUCE:
		nccl_call(f, p6, p3, p4, p5, 0, P7(c), ALL_RANKS);
		break;
	case SHAPE_BROADCAST:
		nccl_call(f, p6, p3, p4, 0, p5, P7(c), ALL_RANKS);
		break;
	case SHAPE_REDUCE:
		nccl_call(f, P7(c), p3, p4, p5, p6, P8(c), ALL_RANKS);
		break;
	case SHAPE_GATHER:
		nccl_call(f, p5, p3, p4, 0, 0, p6, ALL_RANKS);
		break;
	case SHAPE_SEND:
		nccl_call(f, p5, p2, p3, 0, p4, p6, TO_RANK | (u16)p4);
		break;
	case SHAPE_RECV:
		nccl_call(f, p5, p2, p3, 0, p4, p6, FROM_RANK | (u16)p4);
		break;
	case SHAPE_INIT_SCALABLE:
		f->arg[0] = 0;
		f->arg[1] = (u32)p2;
		f->arg[2] = (u32)p3;
		f->arg[3] = id_hash(p5);
		f->out = PT_REGS_PARM1(c);
		break;
	case SHAPE_SPLIT:
		f->arg[0] = 0;
		f->arg[1] = PT_REGS_PARM1(c);
		f->arg[2] = (u32)p2;
		f->arg[3] = (u32)p3;
		f->out = p4;
		break;
	case SHAPE_SHRINK:
		f->arg[0] = 0;
		f->arg[1] = PT_REGS_PARM1(c);
		f->arg[2] = (u32)p3;
		f->arg[3] = (u32)p6;
		f->out = p4;
		break;
	case SHAPE_ASK:
		f->arg[0] = PT_REGS_PARM1(c);
		f->arg[1] = f->arg[2] = f->arg[3] = 0;
		f->out = p2;
		break;
	case SHAPE_BCAST:
		nccl_call(f, p5, p2, p3, 0, p4, p6, ALL_RANKS);
		f->out = 0; /* what it calls is counted */
		break;
	}
	return 0;
}

/*
 * A communicator begins at 0, also if there is a row of an earlier one that was freed at the same
 * address. Rows of its pairs are recognised as stale by `born`, when they are used next:
 * they cannot be found here without going through the map.
 */
static __always_inline void comm_made(u64 comm, u32 tgid, u64 now)
{
	struct comm_key k = { comm, tgid, ALL_RANKS };
	struct comm_count n = { now, 0 };
	if (bpf_map_update_elem(&comms, &k, &n, BPF_ANY))
		lose(LOSS_COMM);
}

/*
 * Counts a call that succeeded; 0 if there is no room for its communicator. A communicator that
 * is older than tracing has no row: it gets one with born 0, and numbers from 1 that are
 * its own (docs/collectives.md says how such ranks are matched). The add is atomic for programs
 * that use it in several threads all the same. If two of them make the row at the same time, a
 * number is given twice.
 */
static __always_inline u32 comm_count(u64 comm, u32 tgid, u32 lane)
{
	struct comm_key k = { comm, tgid, ALL_RANKS };
	struct comm_count *whole = bpf_map_lookup_elem(&comms, &k), *n = whole;
	struct comm_count first = { whole ? whole->born : 0, 0 };

	k.lane = lane;
	if (lane != ALL_RANKS)
		n = bpf_map_lookup_elem(&comms, &k);
	if (!n || n->born != first.born) {
		if (bpf_map_update_elem(&comms, &k, &first, BPF_ANY)) {
			lose(LOSS_COMM);
			return 0;
		}
		n = bpf_map_lookup_elem(&comms, &k);
		if (!n)
			return 0;
	}
	return __sync_add_and_fetch(&n->n, 1);
}

/*
 * At the return of a call that succeeded: reads the new communicator, or numbers the call.
 * ncclInProgress, which calls of a non-blocking communicator return, is not success: nothing
 * is learned or numbered then.
 */
static __attribute__((noinline)) int nccl_result(struct frame *f, u32 shape, u32 tgid, u64 now)
{
	u64 comm = 0;

	if (!f)
		return 0;
	switch (shape) {
	case SHAPE_ASK:
		bpf_probe_read_user(&comm, 4, (void *)f->out);
		f->arg[1] = (u32)comm;
		break;
	case SHAPE_INIT_RANK:
	case SHAPE_INIT_ALL:
	case SHAPE_INIT_SCALABLE:
	case SHAPE_SPLIT:
	case SHAPE_SHRINK:
		bpf_probe_read_user(&comm, 8, (void *)f->out);
		f->arg[0] = comm;
		if (comm) /* else the rank is in no part */
			comm_made(comm, tgid, now);
		break;
	default:
		f->arg[2] |= comm_count(f->arg[0], tgid, f->out - 1);
	}
	return 0;
}

#endif
