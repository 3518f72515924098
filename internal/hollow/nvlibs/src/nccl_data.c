/* How the ranks' data are exchanged: chunk by chunk, in the region that they share. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nccl.h"

static void nap(uint32_t *word, uint32_t seen, long ns)
{
	struct timespec t = {.tv_nsec = ns};
	syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

static void call_all(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0);
}

static bool aborted(struct comm *c)
{
	return __atomic_load_n(&c->region->aborted, __ATOMIC_ACQUIRE);
}

/* Waits until all ranks are here; false if a rank gave up. */
bool meet(struct comm *c, struct barrier *b)
{
	uint32_t now = __atomic_load_n(&b->meeting, __ATOMIC_ACQUIRE);
	if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)c->ranks) {
		__atomic_store_n(&b->arrived, 0, __ATOMIC_RELEASE);
		call_all(&b->meeting);
		return !aborted(c);
	}
	while (__atomic_load_n(&b->meeting, __ATOMIC_ACQUIRE) == now && !aborted(c))
		nap(&b->meeting, now, 50000000);
	return !aborted(c);
}

static char *chunk_of(struct comm *c, int rank)
{
	return c->region->data + (size_t)rank * CHUNK;
}

#define REDUCE_AS(type)                                                                                      \
	for (size_t i = 0; i < size / sizeof(type); i++) {                                                   \
		type *a = (type *)to + i, b = ((const type *)from)[i];                                       \
		if (op == 1)                                                                                 \
			*a *= b;                                                                             \
		else if (op == 2)                                                                            \
			*a = *a > b ? *a : b;                                                                \
		else if (op == 3)                                                                            \
			*a = *a < b ? *a : b;                                                                \
		else                                                                                         \
			*a += b;                                                                             \
	}                                                                                                    \
	break

/* to = to op from. The 16-bit and 8-bit floating types keep their first rank's values. */
static void combine(char *to, const char *from, size_t size, int type, int op)
{
	switch (type) {
	case 0: REDUCE_AS(int8_t);
	case 1: REDUCE_AS(uint8_t);
	case 2: REDUCE_AS(int32_t);
	case 3: REDUCE_AS(uint32_t);
	case 4: REDUCE_AS(int64_t);
	case 5: REDUCE_AS(uint64_t);
	case 7: REDUCE_AS(float);
	case 8: REDUCE_AS(double);
	}
}

static void average(char *at, size_t size, int type, int ranks)
{
	if (type == 7)
		for (size_t i = 0; i < size / sizeof(float); i++)
			((float *)at)[i] /= (float)ranks;
	if (type == 8)
		for (size_t i = 0; i < size / sizeof(double); i++)
			((double *)at)[i] /= ranks;
}

static void reduce_chunk(struct comm *c, const struct nccl_op *o, char *to, size_t size)
{
	memcpy(to, chunk_of(c, 0), size);
	for (int i = 1; i < c->ranks; i++)
		combine(to, chunk_of(c, i), size, o->type, o->op);
	if (o->op == 4)
		average(to, size, o->type, c->ranks);
}

/* Passes size bytes from each rank through the region, and delivers each chunk. */
static bool pass(struct comm *c, const struct nccl_op *o, const char *send, size_t size, int into, size_t stride)
{
	for (size_t at = 0; at < size || !at; at += CHUNK) {
		size_t n = size - at < CHUNK ? size - at : CHUNK;
		if (send)
			memcpy(chunk_of(c, c->rank), send + at, n);
		if (!meet(c, &c->region->proxies))
			return false;
		if (into < 0)
			reduce_chunk(c, o, o->recv + at, n);
		for (int i = 0; into > 0 && i < c->ranks; i++)
			if (into == 1 || i == o->root)
				memcpy(o->recv + at + (into == 1 ? i * stride : 0), chunk_of(c, i), n);
		if (!meet(c, &c->region->proxies))
			return false;
		if (!size)
			break;
	}
	return true;
}

enum { REDUCED = -1, NOTHING, EVERYONES, ROOTS };

/* A collective operation; false if a rank gave up. */
static bool collect(struct comm *c, struct nccl_op *o)
{
	size_t size = o->count * type_size(o->type);
	bool root = c->rank == o->root, ok = true;
	struct nccl_op part = *o;
	switch (o->coll) {
	case ALL_REDUCE:
		return pass(c, o, o->send, size, REDUCED, 0);
	case REDUCE:
		return pass(c, o, o->send, size, root ? REDUCED : NOTHING, 0);
	case BROADCAST:
		return pass(c, o, root ? o->send : NULL, size, ROOTS, 0);
	case ALL_GATHER:
		return pass(c, o, o->send, size, EVERYONES, size);
	case GATHER:
		return pass(c, o, o->send, size, root ? EVERYONES : NOTHING, size);
	case REDUCE_SCATTER:
		for (int i = 0; i < c->ranks && ok; i++)
			ok = pass(c, o, o->send + i * size, size, i == c->rank ? REDUCED : NOTHING, 0);
		return ok;
	case ALL_TO_ALL: /* each rank in turn gets its part of every rank's data */
		for (int i = 0; i < c->ranks && ok; i++)
			ok = pass(c, &part, o->send + i * size, size, i == c->rank ? EVERYONES : NOTHING, size);
		return ok;
	default:
		return true;
	}
}

/* Continues a send or receive by one chunk, if the other side is ready. */
static bool advance(struct comm *c, struct nccl_op *o, uint64_t start, uint64_t *latest)
{
	int from = o->coll == SEND ? c->rank : o->root, to = o->coll == SEND ? o->root : c->rank;
	struct box *b = &c->region->box[from][to];
	char *data = chunk_of(c, c->ranks + from * c->ranks + to);
	size_t size = o->count * type_size(o->type), n = size - o->done < CHUNK ? size - o->done : CHUNK;
	if (o->done >= size)
		return false;
	uint32_t full = __atomic_load_n(&b->full, __ATOMIC_ACQUIRE);
	if (o->coll == SEND && !full) {
		memcpy(data, o->send + o->done, n);
		b->size = (uint32_t)n;
		b->start = start;
		__atomic_store_n(&b->full, 1, __ATOMIC_RELEASE);
	} else if (o->coll == RECV && full) {
		n = b->size < n ? b->size : n;
		memcpy(o->recv + o->done, data, n);
		*latest = b->start > *latest ? b->start : *latest;
		__atomic_store_n(&b->full, 0, __ATOMIC_RELEASE);
	} else {
		return false;
	}
	o->done += n;
	call_all(&c->region->posted);
	return true;
}

/* Sends and receives of a work, side by side as in a group. */
static uint64_t exchange(struct comm *c, struct work *w, uint64_t start)
{
	uint64_t latest = start;
	for (struct nccl_op *o = w->first; o; o = o->next)
		o->done = 0;
	for (bool open = true; open && !aborted(c);) {
		uint32_t seen = __atomic_load_n(&c->region->posted, __ATOMIC_ACQUIRE);
		bool moved = open = false;
		for (struct nccl_op *o = w->first; o; o = o->next) {
			if (o->coll != SEND && o->coll != RECV)
				continue;
			moved = advance(c, o, start, &latest) || moved;
			open = open || o->done < o->count * type_size(o->type);
		}
		if (open && !moved)
			nap(&c->region->posted, seen, 50000000);
	}
	return latest;
}

/* Runs the work that a stream has reached, with the other ranks. Returns when it ended on the GPU:
 * after the last rank arrived, plus a latency and the time for the bytes. */
uint64_t run_work(struct comm *c, struct work *w, uint64_t start)
{
	size_t bytes = 0;
	bool collective = false, ok = true;
	for (struct nccl_op *o = w->first; o; o = o->next) {
		bytes += o->count * type_size(o->type);
		collective = collective || o->coll < SEND;
	}
	uint64_t latest = start;
	if (collective) {
		c->region->start[c->rank] = start;
		ok = meet(c, &c->region->proxies);
		for (int i = 0; ok && i < c->ranks; i++)
			latest = c->region->start[i] > latest ? c->region->start[i] : latest;
	}
	for (struct nccl_op *o = w->first; o && ok; o = o->next)
		ok = collect(c, o);
	uint64_t met = exchange(c, w, start);
	latest = met > latest ? met : latest;
	double rate = hollow_number("nccl.rate", 10e9);
	return latest + (uint64_t)(hollow_number("nccl.latency", 20e3) + (double)bytes / (rate > 0 ? rate : 10e9) * 1e9);
}
