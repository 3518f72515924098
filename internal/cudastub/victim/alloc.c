/* Faults of device memory: allocated and freed every step, or never freed. */
#include <stdio.h>

#include "../stub/api.h"
#include "loop.h"

enum { BUFFERS = 4, MAX_LIVE = 1 << 16, WORKSPACE = 1 << 20, LEAK = 256 << 10 };

/* alloc-churn: each allocation that is not freed makes the next one 250 ns slower, as when
 * a free list is searched. After some 2,000 of them a step takes three times as long. */
#define COST_PER_LIVE "cudaMalloc:per-live=250ns"

static int cost_of_allocations(struct injection *in, struct dispatcher *d)
{
	(void)in;
	(void)d;
	return cudastub_set(COST_PER_LIVE);
}

/* A healthy step frees all that it allocates; a faulty one keeps one buffer. */
FRAME static void resize_workspaces(struct injection *in, struct dispatcher *d)
{
	void *buffers[BUFFERS];
	uint64_t t = now_ns();
	int slow = faulty(in), kept = slow && in->count < MAX_LIVE ? 1 : 0;

	for (int i = 0; i < BUFFERS; i++)
		CALLED(d, CALL_MALLOC, WORKSPACE >> i, cudaMalloc(&buffers[i], WORKSPACE >> i));
	for (int i = kept; i < BUFFERS; i++)
		CALLED(d, CALL_FREE, 0, cudaFree(buffers[i]));
	if (slow)
		inject(in, over_baseline(&in->healthy, now_ns() - t, 0));
	else
		learn(d, &in->healthy, now_ns() - t);
}

const struct fault fault_alloc_churn = {
	.name = "alloc-churn", .self = 1, .prepare = cost_of_allocations, .host = resize_workspaces,
};

/* leak: what is lost is memory, not time. */
FRAME static void leak_activations(struct injection *in, struct dispatcher *d)
{
	size_t bytes = LEAK / 2 + next_random(&in->rng) % LEAK;
	void *activations;

	CALLED(d, CALL_MALLOC, bytes, cudaMalloc(&activations, bytes));
	d->run->truth.leaked_bytes += bytes;
	inject(in, 0);
}

FRAME static void use_workspace(struct dispatcher *d)
{
	void *workspace;

	CALLED(d, CALL_MALLOC, WORKSPACE, cudaMalloc(&workspace, WORKSPACE));
	CALLED(d, CALL_FREE, 0, cudaFree(workspace));
}

static void run_layer(struct injection *in, struct dispatcher *d)
{
	use_workspace(d);
	if (faulty(in))
		leak_activations(in, d);
}

const struct fault fault_leak = {.name = "leak", .self = 1, .host = run_layer};
