/* The list of faults, and what they have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

static const struct fault fault_none = {.name = "none"};

extern const struct fault fault_cpu_hog, fault_sibling_hog, fault_throttle, fault_lock, fault_lock_io, fault_pi_lock,
	fault_cond, fault_gil, fault_own_io, fault_read_io, fault_mmap_io, fault_mem_pressure, fault_peer_pipe,
	fault_peer_unix, fault_peer_tcp, fault_loader_cpu, fault_loader_hog, fault_loader_io, fault_loader_crowd,
	fault_gpu, fault_gpu_peer, fault_gpu_trend, fault_driver_cpu, fault_cold, fault_pageable, fault_alloc_churn,
	fault_leak, fault_implicit_sync, fault_graph_recapture, fault_graph_pool, fault_graph_lazy, fault_graph_eager,
	fault_launch_bound, fault_idle_server, fault_peer_far;

static const struct fault *const all_faults[] = {
	&fault_none, &fault_cpu_hog, &fault_sibling_hog, &fault_throttle, &fault_lock, &fault_lock_io, &fault_pi_lock,
	&fault_cond, &fault_gil, &fault_own_io, &fault_read_io, &fault_mmap_io, &fault_mem_pressure, &fault_peer_pipe,
	&fault_peer_unix, &fault_peer_tcp, &fault_loader_cpu, &fault_loader_hog, &fault_loader_io,
	&fault_loader_crowd, &fault_gpu, &fault_gpu_peer, &fault_gpu_trend, &fault_driver_cpu, &fault_cold,
	&fault_pageable, &fault_alloc_churn, &fault_leak, &fault_implicit_sync, &fault_graph_recapture,
	&fault_graph_pool, &fault_graph_lazy, &fault_graph_eager, &fault_launch_bound, &fault_idle_server,
	&fault_peer_far,
};

const struct fault *find_fault(const char *name)
{
	for (size_t i = 0; i < sizeof(all_faults) / sizeof(all_faults[0]); i++)
		if (!strcmp(all_faults[i]->name, name))
			return all_faults[i];
	return NULL;
}

uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ns, plus or minus up to --jitter percent. */
static uint64_t jittered(struct injection *in, uint64_t ns)
{
	uint64_t spread = ns / 100 * (uint64_t)in->run->o.jitter;

	return spread ? ns - spread + next_random(&in->rng) % (2 * spread + 1) : ns;
}

uint64_t injection_ns(struct injection *in)
{
	return jittered(in, (uint64_t)in->run->o.fault_ms * NS_PER_MS);
}

void injection_next(struct injection *in)
{
	in->next_ns += jittered(in, (uint64_t)in->run->o.period_ms * NS_PER_MS);
}

int faulty(const struct injection *in)
{
	return now_ns() >= in->run->fault_ns;
}

int injection_due(struct injection *in, uint64_t now)
{
	if (now < in->next_ns || now < in->run->fault_ns)
		return 0;
	while (in->next_ns <= now)
		injection_next(in);
	return 1;
}

void inject(struct injection *in, int64_t lost_ns)
{
	in->injected_ns += lost_ns;
	strike(in);
}

void strike(struct injection *in)
{
	if (!in->count++)
		in->first_ns = unix_ns();
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The mean, without those that something else on the machine disturbed: over twice the median and a millisecond. */
static uint64_t healthy_ns(struct baseline *b)
{
	uint64_t sorted[BASELINE], sum = 0;
	long n = b->n < BASELINE ? b->n : BASELINE, used = 0;

	if (b->known == b->n)
		return b->healthy_ns;
	memcpy(sorted, b->took_ns, (size_t)n * sizeof(sorted[0]));
	qsort(sorted, (size_t)n, sizeof(sorted[0]), by_size);
	while (used < n && sorted[used] <= 2 * sorted[n / 2] + NS_PER_MS)
		sum += sorted[used++];
	b->healthy_ns = sum / (uint64_t)used;
	b->known = b->n;
	return b->healthy_ns;
}

int64_t over_baseline(struct baseline *b, uint64_t took_ns, uint64_t nominal_ns)
{
	return (int64_t)took_ns - (int64_t)(b->n ? healthy_ns(b) : nominal_ns);
}

void learn(const struct dispatcher *d, struct baseline *b, uint64_t took_ns)
{
	if (d->steps < d->run->o.warmup || now_ns() >= d->run->fault_ns)
		return;
	b->took_ns[b->n++ % BASELINE] = took_ns;
}

struct injection *injection_of(struct run *r, unsigned part)
{
	for (int i = 0; i < r->n_injections; i++)
		if (r->in[i].fault->parts & part)
			return &r->in[i];
	return NULL;
}

struct who this_thread(void)
{
	struct who w = {.pid = getpid(), .tid = thread_id()};

	thread_comm(w.comm);
	return w;
}

struct who a_process(int pid, const char *comm)
{
	struct who w = {.pid = pid, .tid = pid};

	snprintf(w.comm, sizeof(w.comm), "%.15s", comm);
	return w;
}

int refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("victim: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return -1;
}

int enter_cgroup(struct cgroup *g, struct run *r, const char *controller)
{
	if (cgroup_enter(g, controller))
		return refuse("no control group with the %s controller can be made here (%s)", controller, strerror(errno));
	snprintf(r->truth.cgroup, sizeof(r->truth.cgroup), "%s", g->group);
	return 0;
}
