/* Copies and fills. The bytes move at the call, or at the launch of the graph; in the stream
 * the copy takes simulated time. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine.h"

enum {
	STAGED = 64 << 10, /* a copy from pageable memory up to this size does not wait */
	LARGE = 1 << 20,   /* from this size on the GPU's memory is zeroed by the page */
};

/* Zeroes by returning whole pages to the kernel. Writing zeros would cost the calling thread
 * milliseconds, which it does not spend with a real GPU. */
static void zero_pages(char *to, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *first = (char *)(((uintptr_t)to + page - 1) & -page);
	char *end = (char *)((uintptr_t)(to + n) & -page);
	if (madvise(first, (size_t)(end - first), MADV_DONTNEED)) {
		memset(to, 0, n);
		return;
	}
	memset(to, 0, (size_t)(first - to));
	memset(end, 0, (size_t)(to + n - end));
}

static void fill(char *to, const struct copy *c)
{
	struct range r;
	if (!c->value && c->width >= LARGE && range_find(to, &r) && r.kind == RANGE_DEVICE)
		zero_pages(to, c->width);
	else if (c->element <= 1)
		memset(to, c->value, c->width);
	else
		for (size_t x = 0; x < c->width; x += (size_t)c->element)
			memcpy(to + x, &c->value, (size_t)c->element);
}

void copy_now(const struct copy *c)
{
	for (size_t z = 0; z < c->depth; z++) {
		for (size_t y = 0; y < c->height; y++) {
			char *to = c->to + z * c->to_slice + y * c->to_pitch;
			if (c->from)
				memmove(to, c->from + z * c->from_slice + y * c->from_pitch, c->width);
			else
				fill(to, c);
		}
	}
}

static bool on_device(const struct range *r)
{
	return r->kind == RANGE_DEVICE || r->kind == RANGE_MANAGED || r->kind == RANGE_RESERVED;
}

uint64_t copy_ns(const struct copy *c, bool *pageable, bool *to_host)
{
	struct range from = {0}, to = {0};
	const struct settings *s = settings();
	double bytes = (double)c->width * (double)c->height * (double)c->depth, rate = s->device_rate;
	range_find(c->to, &to);
	if (c->from)
		range_find(c->from, &from);
	*to_host = !on_device(&to);
	*pageable = to.kind == RANGE_NONE || (c->from && from.kind == RANGE_NONE);
	if (*pageable)
		rate = s->pageable_rate;
	else if (*to_host || (c->from && !on_device(&from)))
		rate = s->pinned_rate;
	return s->copy_ns + (uint64_t)(bytes / rate * 1e9);
}

int copy_queue(struct stream *s, const struct copy *c, bool sync)
{
	static struct row *row;
	bool pageable, to_host;
	if (!row)
		row = hollow_row(ROW_BYTES, "copied");
	size_t bytes = c->width * c->height * c->depth;
	uint64_t ns = copy_ns(c, &pageable, &to_host);
	if (!s)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	if (s->capture) {
		capture_add(s, NODE_COPY)->copy = *c;
		pthread_mutex_unlock(&engine);
		return sync ? CAPTURE_IMPLICIT : OK;
	}
	hollow_add(row, bytes);
	bool behind = s->head, wait = sync || (pageable && (to_host || bytes > STAGED));
	if (behind && !wait && !(pageable && c->from)) { /* the data to copy is not ready yet */
		stream_copy(s, c, ns);
		pthread_mutex_unlock(&engine);
		return OK;
	}
	stream_run(s, NULL, ns);
	struct stamp *done = wait ? stamp_take(s) : NULL;
	pthread_mutex_unlock(&engine);
	if (done)
		wait_stamp(done);
	copy_now(c);
	return OK;
}

int set_queue(struct stream *s, const struct copy *c, bool sync)
{
	if (!s)
		return INVALID_HANDLE;
	uint64_t ns = settings()->copy_ns +
		      (uint64_t)((double)(c->width * c->height * c->depth) / settings()->device_rate * 1e9);
	pthread_mutex_lock(&engine);
	if (s->capture) {
		capture_add(s, NODE_SET)->copy = *c;
		pthread_mutex_unlock(&engine);
		return OK;
	}
	if (s->head && !sync) {
		stream_copy(s, c, ns);
		pthread_mutex_unlock(&engine);
		return OK;
	}
	stream_run(s, NULL, ns);
	struct stamp *done = sync ? stamp_take(s) : NULL;
	pthread_mutex_unlock(&engine);
	if (done)
		wait_stamp(done);
	copy_now(c);
	return OK;
}
