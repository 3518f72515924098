/* Faults of copies: from pageable memory, and many small ones that block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../stub/api.h"
#include "loop.h"

enum { PAGE = 4096, TRIAL = 32 << 20, STAGE = 64 << 10 };

#define BIGGEST ((size_t)512 << 20)

static char *host;        /* what malloc returned: pageable */
static size_t host_bytes; /* 1.5 times a usual copy */
static size_t usual_bytes;

/* pageable: measures how many bytes a copy through a staging buffer moves in fault-ms. */
static int fill_host_buffer(struct injection *in)
{
	static char stage[STAGE];
	uint64_t wanted = (uint64_t)in->run->o.fault_ms * NS_PER_MS, took;

	host = malloc(BIGGEST);
	if (!host)
		return refuse("there is no memory for a buffer of %zu MiB", BIGGEST >> 20);
	memset(host, 1, TRIAL); /* a page that was never written costs a fault, not a copy */
	took = now_ns();
	for (size_t i = 0; i < TRIAL; i += STAGE) {
		memcpy(stage, host + i, STAGE);
		__asm__ volatile("" : : "r"(stage) : "memory");
	}
	took = now_ns() - took;
	usual_bytes = (size_t)((double)wanted * TRIAL / (double)(took ? took : 1));
	if (usual_bytes > BIGGEST / 3 * 2)
		usual_bytes = BIGGEST / 3 * 2;
	host_bytes = usual_bytes + usual_bytes / 2;
	memset(host, 1, host_bytes);
	return 0;
}

FRAME static void upload_table(struct injection *in, struct dispatcher *d)
{
	size_t bytes;
	uint64_t t = now_ns();

	if (!injection_due(in, t))
		return;
	bytes = usual_bytes / 2 + next_random(&in->rng) % (usual_bytes + 1);
	bytes = (bytes < host_bytes ? bytes : host_bytes) & ~(size_t)(PAGE - 1);
	cudastub_once("cudaMemcpyAsync:copy");
	CALLED(d, CALL_COPY_ASYNC, bytes, cudaMemcpyAsync((void *)0x7e0000000000, host, bytes, KIND_HOST_TO_DEVICE, 0));
	inject(in, (int64_t)(now_ns() - t));
}

static void free_host_buffer(struct injection *in)
{
	(void)in;
	free(host);
}

const struct fault fault_pageable = {
	.name = "pageable", .self = 1, .setup = fill_host_buffer, .host = upload_table, .end = free_host_buffer,
};

/* implicit-sync: asking the device for each loss, instead of for all at once. */
enum { ITEMS = 40 };

static int cost_of_item(struct injection *in, struct dispatcher *d)
{
	(void)in;
	(void)d;
	return cudastub_set("cudaMemcpy:sleep=20us");
}

FRAME static void log_losses(struct injection *in, struct dispatcher *d)
{
	int slow = faulty(in), n = slow ? ITEMS : 1;
	float loss;
	uint64_t t = now_ns();

	for (int i = 0; i < n; i++)
		CALLED(d, CALL_COPY, sizeof(loss),
		       cudaMemcpy(&loss, (void *)0x7e0000000000, sizeof(loss), KIND_DEVICE_TO_HOST));
	if (slow)
		inject(in, over_baseline(&in->healthy, now_ns() - t, 0));
	else
		learn(d, &in->healthy, now_ns() - t);
}

const struct fault fault_implicit_sync = {
	.name = "implicit-sync", .self = 1, .prepare = cost_of_item, .host = log_losses,
};
