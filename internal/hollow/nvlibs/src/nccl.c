/* NCCL's calls: each queues a kernel that ends when all ranks have reached it. */
#include <sys/random.h>
#include <time.h>

#include "nccl.h"

int cuStreamIsCapturing(void *stream, int *status);
int cuMemAlloc_v2(void **out, size_t size);
int cuMemFree_v2(void *at);

static const char *const kernels[] = {
	[ALL_REDUCE] = "ncclDevKernel_AllReduce_hollow",	 [REDUCE] = "ncclDevKernel_Reduce_hollow",
	[BROADCAST] = "ncclDevKernel_Broadcast_hollow",		 [ALL_GATHER] = "ncclDevKernel_AllGather_hollow",
	[REDUCE_SCATTER] = "ncclDevKernel_ReduceScatter_hollow", [ALL_TO_ALL] = "ncclDevKernel_SendRecv_hollow",
	[GATHER] = "ncclDevKernel_SendRecv_hollow",		 [SEND] = "ncclDevKernel_SendRecv_hollow",
	[RECV] = "ncclDevKernel_SendRecv_hollow",
};

static __thread int depth; /* of groups */
static __thread struct work *grouped;

size_t type_size(int type)
{
	static const unsigned char size[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* ncclDataType_t */
	return type >= 0 && type < (int)sizeof size ? size[type] : 0;
}

/* Called with the GPU's lock held. */
static void reached(void *gate, void *arg, uint64_t start)
{
	struct work *w = arg;
	struct comm *c = w->comm;
	struct turn *t = malloc(sizeof *t);
	if (!t)
		abort();
	*t = (struct turn){.work = w, .gate = gate, .start = start};
	pthread_mutex_lock(&c->lock);
	*c->last = t;
	c->last = &t->next;
	if (w->captured)
		c->open++;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static int queue(struct work *w)
{
	struct comm *c = w->comm;
	int status = 0;
	if (cuStreamIsCapturing(w->stream, &status))
		return INVALID_USAGE;
	w->captured = status != 0;
	if (!w->captured) {
		pthread_mutex_lock(&c->lock);
		c->open++;
		pthread_mutex_unlock(&c->lock);
	}
	return hollow_gate_enqueue(w->stream, kernels[w->first->coll], reached, w) ? INVALID_USAGE : 0;
}

static int add(struct comm *c, void *stream, struct nccl_op op)
{
	if (!c || !type_size(op.type) || op.root < 0 || op.root >= c->ranks)
		return INVALID_ARGUMENT;
	struct work *w = grouped;
	while (w && (w->comm != c || w->stream != stream))
		w = w->next;
	if (!w) {
		if (!(w = calloc(1, sizeof *w)))
			return SYSTEM_ERROR;
		w->comm = c;
		w->stream = stream;
		w->last = &w->first;
		w->next = grouped;
		grouped = w;
	}
	struct nccl_op *o = malloc(sizeof *o);
	if (!o)
		return SYSTEM_ERROR;
	*o = op;
	*w->last = o;
	w->last = &o->next;
	return 0;
}

/* Queues what was added, unless a group is open. */
static int flush(int status)
{
	if (depth)
		return status;
	struct work *w = grouped, *in_order = NULL;
	grouped = NULL;
	for (struct work *next; w; w = next) {
		next = w->next;
		w->next = in_order;
		in_order = w;
	}
	for (struct work *next; in_order; in_order = next) {
		next = in_order->next;
		int failed = queue(in_order);
		status = status ? status : failed;
	}
	return status;
}

#define QUEUE(...) flush(add(comm, stream, (struct nccl_op){__VA_ARGS__}))

API ncclGroupStart(void)
{
	HIT;
	depth++;
	return 0;
}

API ncclGroupEnd(void)
{
	HIT;
	if (!depth)
		return INVALID_USAGE;
	depth--;
	return flush(0);
}

API ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = ALL_REDUCE, .send = send, .recv = recv, .count = count, .type = type, .op = op);
}

API ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, struct comm *comm,
	       void *stream)
{
	HIT;
	return QUEUE(.coll = REDUCE, .send = send, .recv = recv, .count = count, .type = type, .op = op,
		     .root = root);
}

API ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = BROADCAST, .send = send, .recv = recv, .count = count, .type = type, .root = root);
}

API ncclBcast(void *at, size_t count, int type, int root, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = BROADCAST, .send = at, .recv = at, .count = count, .type = type, .root = root);
}

API ncclAllGather(const void *send, void *recv, size_t count, int type, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = ALL_GATHER, .send = send, .recv = recv, .count = count, .type = type);
}

API ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = REDUCE_SCATTER, .send = send, .recv = recv, .count = count, .type = type, .op = op);
}

API ncclAlltoAll(const void *send, void *recv, size_t count, int type, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = ALL_TO_ALL, .send = send, .recv = recv, .count = count, .type = type);
}

API ncclGather(const void *send, void *recv, size_t count, int type, int root, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = GATHER, .send = send, .recv = recv, .count = count, .type = type, .root = root);
}

API ncclSend(const void *send, size_t count, int type, int peer, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = SEND, .send = send, .count = count, .type = type, .root = peer);
}

API ncclRecv(void *recv, size_t count, int type, int peer, struct comm *comm, void *stream)
{
	HIT;
	return QUEUE(.coll = RECV, .recv = recv, .count = count, .type = type, .root = peer);
}

API ncclGetVersion(int *version)
{
	HIT;
	*version = 23007;
	return 0;
}

API ncclGetUniqueId(struct unique_id *id)
{
	HIT;
	return getrandom(id, sizeof *id, 0) == sizeof *id ? 0 : SYSTEM_ERROR;
}

API_OF(const char *) ncclGetErrorString(int status)
{
	HIT;
	return status ? "failed (hollow NCCL)" : "no error";
}

API_OF(const char *) ncclGetLastError(struct comm *c)
{
	HIT;
	return "";
}

API ncclMemAlloc(void **out, size_t size)
{
	HIT;
	return cuMemAlloc_v2(out, size) ? SYSTEM_ERROR : 0;
}

API ncclMemFree(void *at)
{
	HIT;
	return cuMemFree_v2(at) ? INVALID_ARGUMENT : 0;
}
