/*
 * Streams as queues with simulated time. The GPU's clock is the host's CLOCK_MONOTONIC.
 * Nothing runs: when something is queued whose beginning is known, its end is computed at
 * once. Only behind something of unknown end (a host function, a collective operation) are
 * operations kept in a list, until progress() can compute them. Streams do not slow each
 * other: kernels of two streams overlap as if each had the GPU for itself.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

pthread_mutex_t engine = PTHREAD_MUTEX_INITIALIZER;
struct device devices[MAX_DEVICES];
__thread int thread_device;

static struct stream *streams; /* all but the legacy ones */
static uint64_t last_id = 2;
static __thread struct stream *per_thread[MAX_DEVICES];

int device_count(void)
{
	int n = settings()->devices;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible) {
		int listed = *visible && *visible != '-';
		for (const char *c = visible; *c; c++)
			listed += *c == ',';
		n = listed < n ? listed : n;
	}
	return n > MAX_DEVICES ? MAX_DEVICES : n;
}

int current_device(void)
{
	return thread_device;
}

static struct stream *legacy_of(int device)
{
	struct stream *s = &devices[device].legacy;
	if (!s->tail) {
		pthread_mutex_lock(&engine);
		s->id = 1;
		s->device = device;
		s->blocking = true;
		s->tail = &s->head;
		pthread_mutex_unlock(&engine);
	}
	return s;
}

struct stream *stream_of(void *handle)
{
	switch ((uintptr_t)handle) {
	case 0:
	case 1:
		return legacy_of(thread_device);
	case 2:
		if (!per_thread[thread_device])
			per_thread[thread_device] = stream_new(0, 0);
		return per_thread[thread_device];
	}
	return handle;
}

struct stream *stream_new(unsigned flags, int priority)
{
	struct stream *s = calloc(1, sizeof *s);
	s->flags = flags;
	s->priority = priority;
	s->device = thread_device;
	s->blocking = !(flags & 1);
	s->tail = &s->head;
	pthread_mutex_lock(&engine);
	s->id = ++last_id;
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&engine);
	return s;
}

/* Queued work goes on: a destroyed stream ends only when it is empty, so it is kept. */
void stream_free(struct stream *s)
{
	pthread_mutex_lock(&engine);
	if (!s->head) {
		struct stream **at = &streams;
		while (*at && *at != s)
			at = &(*at)->next;
		if (*at)
			*at = s->next;
		free(s->deps);
		free(s);
	}
	pthread_mutex_unlock(&engine);
}

/* When work that is queued now, or was queued at the given time, can begin. */
static uint64_t begin_at(struct stream *s, uint64_t queued)
{
	uint64_t t = s->ready > queued ? s->ready : queued;
	if (!s->blocking)
		return t;
	struct stream *legacy = &devices[s->device].legacy;
	if (s != legacy)
		return legacy->ready > t ? legacy->ready : t;
	for (struct stream *o = streams; o; o = o->next)
		if (o->blocking && o->device == s->device && o->ready > t)
			t = o->ready;
	return t;
}

static uint64_t run(struct stream *s, uint64_t queued, struct func *f, uint64_t ns)
{
	uint64_t start = begin_at(s, queued);
	if (f) {
		ns = (uint64_t)((double)kernel_ns(f) * slowness(start));
		hollow_add(f->executed, 1);
		__atomic_fetch_add(&f->executed->ns, ns, __ATOMIC_RELAXED);
	}
	s->ready = start + ns;
	s->ends[s->launches++ % MAX_DEPTH] = s->ready;
	return s->ready;
}

static struct op *queue(struct stream *s, enum op_kind kind)
{
	struct op *o = calloc(1, sizeof *o);
	o->kind = kind;
	o->queued = hollow_now();
	o->stream = s;
	*s->tail = o;
	s->tail = &o->next;
	s->pending++;
	return o;
}

uint64_t stream_run(struct stream *s, struct func *f, uint64_t ns)
{
	if (!s->head)
		return run(s, hollow_now() + (f ? settings()->latency_ns : 0), f, ns);
	struct op *o = queue(s, OP_RUN);
	o->func = f;
	o->ns = ns;
	return 0;
}

void stream_copy(struct stream *s, const struct copy *c, uint64_t ns)
{
	struct op *o = queue(s, OP_RUN);
	o->ns = ns;
	o->copy = malloc(sizeof *c);
	*o->copy = *c;
}

struct stamp *stamp_take(struct stream *s)
{
	struct stamp *t = calloc(1, sizeof *t);
	t->refs = 1;
	if (!s->head) {
		t->known = true;
		t->when = begin_at(s, hollow_now());
		return t;
	}
	t->refs++;
	queue(s, OP_STAMP)->stamp = t;
	return t;
}

void stamp_drop(struct stamp *t)
{
	if (t && --t->refs == 0)
		free(t);
}

void stream_wait(struct stream *s, struct stamp *t)
{
	if (!s->head && t->known) {
		if (t->when > s->ready)
			s->ready = t->when;
		return;
	}
	t->refs++;
	queue(s, OP_WAIT)->stamp = t;
	progress();
}

void stream_gate(struct stream *s, struct func *f, hollow_reached reached, void *arg)
{
	struct op *o = queue(s, OP_GATE);
	o->func = f;
	o->reached = reached;
	o->arg = arg;
	progress();
}

/* Computes the operation at the head of a stream. False: its end cannot be known yet. */
static bool advance(struct stream *s)
{
	struct op *o = s->head;
	switch (o->kind) {
	case OP_RUN:
		run(s, o->queued, o->func, o->ns);
		if (o->copy) {
			copy_now(o->copy);
			free(o->copy);
		}
		break;
	case OP_STAMP:
		o->stamp->known = true;
		o->stamp->when = begin_at(s, o->queued);
		stamp_drop(o->stamp);
		break;
	case OP_WAIT:
		if (!o->stamp->known)
			return false;
		if (o->stamp->when > s->ready)
			s->ready = o->stamp->when;
		stamp_drop(o->stamp);
		break;
	case OP_GATE:
		if (!o->begun) {
			o->begun = true;
			o->ns = begin_at(s, o->queued);
			o->reached(o, o->arg, o->ns);
		}
		return false;
	}
	if (!(s->head = o->next))
		s->tail = &s->head;
	s->pending--;
	free(o);
	return true;
}

void progress(void)
{
	bool moved;
	do {
		moved = false;
		for (struct stream *s = streams; s; s = s->next)
			while (s->head && advance(s))
				moved = true;
		for (int i = 0; i < MAX_DEVICES; i++)
			while (devices[i].legacy.head && advance(&devices[i].legacy))
				moved = true;
	} while (moved);
	wake_waiting();
}

void hollow_gate_finish(void *gate, uint64_t end)
{
	pthread_mutex_lock(&engine);
	struct op *o = gate;
	struct stream *s = o->stream;
	uint64_t start = o->ns;
	s->ready = end > start ? end : start;
	if (o->func) {
		hollow_add(o->func->executed, 1);
		__atomic_fetch_add(&o->func->executed->ns, s->ready - start, __ATOMIC_RELAXED);
	}
	s->ends[s->launches++ % MAX_DEPTH] = s->ready;
	if (!(s->head = o->next))
		s->tail = &s->head;
	s->pending--;
	free(o);
	progress();
	pthread_mutex_unlock(&engine);
}

int hollow_gate_enqueue(void *stream, const char *kernel, hollow_reached reached, void *arg)
{
	struct stream *s = stream_of(stream);
	if (!s)
		return INVALID_HANDLE;
	struct func *f = hollow_kernel(kernel);
	hollow_add(f->launched, 1);
	hollow_busy(settings()->launch_ns);
	pthread_mutex_lock(&engine);
	if (s->capture) {
		struct node *n = capture_add(s, NODE_GATE);
		n->func = f;
		n->reached = reached;
		n->arg = arg;
	} else {
		stream_gate(s, f, reached, arg);
	}
	pthread_mutex_unlock(&engine);
	return OK;
}

/* A launch waits while the queue of its stream is full, as the driver's does. */
void throttle(struct stream *s)
{
	uint32_t depth = settings()->depth;
	pthread_mutex_lock(&engine);
	while (s->pending >= depth) {
		pthread_mutex_unlock(&engine);
		wait_until(hollow_now() + 20000);
		pthread_mutex_lock(&engine);
	}
	uint64_t until = s->launches >= depth ? s->ends[(s->launches - depth) % MAX_DEPTH] : 0;
	pthread_mutex_unlock(&engine);
	if (until > hollow_now())
		wait_until(until);
}

/* All streams of a device, with the legacy one, for wait.c. */
int streams_of(int device, struct stamp **out, int room)
{
	int n = 0;
	legacy_of(device);
	pthread_mutex_lock(&engine);
	out[n++] = stamp_take(&devices[device].legacy);
	for (struct stream *s = streams; s && n < room; s = s->next)
		if (s->device == device && !s->capture && (s->head || s->ready > hollow_now()))
			out[n++] = stamp_take(s);
	pthread_mutex_unlock(&engine);
	return n;
}

void capture_drop(struct capture *c); /* graph.c */

/* Takes all streams that have joined a capture out of it. */
void captures_leave(struct capture *c)
{
	for (struct stream *s = streams; s; s = s->next) {
		if (s->capture != c)
			continue;
		s->capture = NULL;
		s->ndeps = 0;
		capture_drop(c);
	}
}
