#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "types.h"
#include "behave.h"

#define NS_PER_S 1000000000ull

static struct stub_table *tables;

static _Atomic(void (*)(void *)) callback_fn;
static void *callback_arg;

/* Static TLS: no call into the loader on the way to it. */
static __thread struct stub_row *recursing;
static __thread uint32_t recurse_left;
static __thread struct stub_row *once_row;
static __thread struct behaviour once_b;
static __thread uint64_t inside_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Uses the CPU for ns. A gap between two readings of the clock means that the thread was
 * descheduled. It is not counted, so a preempted spin takes longer, as real work does.
 * The thread's CPU clock would give the same result, but reading it is a system call. */
static void spin(uint64_t ns)
{
	const uint64_t gap = 20000;
	uint64_t used = 0, last = now_ns();

	while (used < ns) {
		uint64_t t = now_ns(), d = t - last;

		used += d > gap ? 0 : d;
		last = t;
	}
}

/* Device memory allocated and not freed. */
static _Atomic uint32_t live;

/* The stream capture that this thread is making. */
static __thread struct {
	uintptr_t stream;
	int status;
} capture;

API void cudastub_capture_begin(uintptr_t stream)
{
	capture.stream = stream;
	capture.status = CAPTURE_ACTIVE;
}

API int cudastub_capture_end(void **graph)
{
	int spoiled = capture.status == CAPTURE_INVALIDATED;

	capture.status = CAPTURE_NONE;
	*graph = spoiled ? NULL : (void *)cudastub_fresh(512);
	return spoiled ? ERR_CAPTURE_INVALIDATED : 0;
}

API int cudastub_capture_status(uintptr_t stream)
{
	return capture.stream == stream ? capture.status : CAPTURE_NONE;
}

/* Invalidates the capture, as a call does that is not permitted during one. */
static int spoil_capture(void)
{
	if (capture.status == CAPTURE_NONE)
		return 0;
	capture.status = CAPTURE_INVALIDATED;
	return ERR_CAPTURE_UNSUPPORTED;
}

static void sleep_for(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	struct timespec t = {.tv_sec = (time_t)(end / NS_PER_S), .tv_nsec = (long)(end % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void poll_for(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	ppoll(NULL, 0, &t, NULL);
}

API uint32_t cudastub_enter(struct stub_row *row, struct stub_call *call)
{
	call->begin_ns = now_ns();
	call->outermost = 0;
	call->b = row->b;
	if (once_row == row) {
		call->b = once_b;
		once_row = NULL;
	}
	if (call->b.recurse) {
		if (recursing != row) {
			recursing = row;
			recurse_left = call->b.recurse;
			call->outermost = 1;
		}
		if (recurse_left > 0) {
			recurse_left--;
			return TODO_RECURSE;
		}
	}
	return call->b.nested ? TODO_NEST : 0;
}

API int cudastub_finish(struct stub_row *row, struct stub_call *call, uint32_t todo, int err)
{
	const struct behaviour *b = &call->b;

	if (!(todo & TODO_RECURSE)) {
		void (*fn)(void *) = atomic_load(&callback_fn);
		uint32_t nth = atomic_fetch_add_explicit(&row->calls, 1, memory_order_relaxed) + 1;

		if (b->callback && fn)
			fn(callback_arg);
		if (b->spin_ns)
			spin(b->spin_ns);
		if (b->per_live_ns)
			spin(b->per_live_ns * atomic_load(&live));
		if (b->sleep_ns)
			sleep_for(b->sleep_ns);
		if (b->poll_ns)
			poll_for(b->poll_ns);
		if (b->err && (!b->err_every || nth % b->err_every == 0))
			err = b->err;
		if (b->no_capture && !err)
			err = spoil_capture();
	}
	if (call->outermost)
		recursing = NULL;
	inside_ns = now_ns() - call->begin_ns;
	return err;
}

API uint64_t cudastub_inside_ns(void)
{
	uint64_t ns = inside_ns;

	inside_ns = 0;
	return ns;
}

API unsigned long long cudastub_fresh(size_t size)
{
	static _Atomic unsigned long long next = 0x7e0000000000ull;

	return atomic_fetch_add_explicit(&next, ((unsigned long long)size + 511) & ~511ull,
					 memory_order_relaxed);
}

API unsigned long long cudastub_alloc(size_t size)
{
	atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
	return cudastub_fresh(size);
}

/* Never counts below 0: programs also free memory that was not allocated here. */
API void cudastub_free(void)
{
	uint32_t n = atomic_load(&live);

	while (n && !atomic_compare_exchange_weak(&live, &n, n - 1))
		;
}

/* Copies as the driver does: piece by piece into a buffer that the device can read. */
API void cudastub_copy(const struct stub_call *call, const void *src, size_t n)
{
	char stage[64 << 10];

	if (!call->b.copy)
		return;
	for (size_t at = 0; at < n; at += sizeof(stage)) {
		memcpy(stage, (const char *)src + at, n - at < sizeof(stage) ? n - at : sizeof(stage));
		__asm__ volatile("" : : "r"(stage) : "memory");
	}
}

API void cudastub_callback(void (*fn)(void *), void *arg)
{
	callback_arg = arg;
	atomic_store(&callback_fn, fn);
}

API void cudastub_forget(void)
{
	recursing = NULL;
	once_row = NULL;
}

static int parse_time(const char *s, uint64_t *ns)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || v < 0)
		return -1;
	if (!strcmp(end, "us"))
		v *= 1e3;
	else if (!strcmp(end, "ms"))
		v *= 1e6;
	else if (!strcmp(end, "s"))
		v *= 1e9;
	else if (*end && strcmp(end, "ns"))
		return -1;
	*ns = (uint64_t)(v + 0.5);
	return 0;
}

static int parse_count(const char *s, uint32_t *n)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	*n = (uint32_t)v;
	return end == s || *end ? -1 : 0;
}

static int parse_item(const char *item, struct behaviour *b)
{
	const char *eq = strchr(item, '=');
	size_t len = eq ? (size_t)(eq - item) : strlen(item);
	uint32_t n = 0;

#define KEY(k) (len == sizeof(k) - 1 && !strncmp(item, k, len))
	if (!eq) {
		b->nested |= KEY("nested");
		b->callback |= KEY("callback");
		b->copy |= KEY("copy");
		b->no_capture |= KEY("no-capture");
		return KEY("nested") || KEY("callback") || KEY("copy") || KEY("no-capture") || KEY("none") || !len ? 0 : -1;
	}
	if (KEY("spin"))
		return parse_time(eq + 1, &b->spin_ns);
	if (KEY("sleep"))
		return parse_time(eq + 1, &b->sleep_ns);
	if (KEY("poll"))
		return parse_time(eq + 1, &b->poll_ns);
	if (KEY("per-live"))
		return parse_time(eq + 1, &b->per_live_ns);
	if (KEY("recurse"))
		return parse_count(eq + 1, &b->recurse);
	if (KEY("err-every"))
		return parse_count(eq + 1, &b->err_every);
	if (KEY("err")) {
		int rc = parse_count(eq + 1, &n);

		b->err = (int)n;
		return rc;
	}
	return -1;
#undef KEY
}

/* Parses one "item,item" list; strtok_r modifies the string. */
static int parse_list(char *list, struct behaviour *b)
{
	char *save, *item;

	memset(b, 0, sizeof(*b));
	for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
		if (parse_item(item, b))
			return -1;
	if (b->err_every && !b->err)
		b->err = ERR_UNKNOWN;
	return 0;
}

static int is_set(const struct behaviour *b)
{
	return b->spin_ns || b->sleep_ns || b->poll_ns || b->per_live_ns || b->recurse || b->err || b->nested ||
	       b->callback || b->copy || b->no_capture;
}

static _Atomic(stub_wait *) waiter;

API void cudastub_sync(uintptr_t stream, int all)
{
	stub_wait *wait = atomic_load(&waiter);

	if (wait)
		wait(stream, all);
}

/* Functions that wait have to leave the cheap path if there is something to wait for. */
static int waits(const struct stub_row *row)
{
	return atomic_load(&waiter) && strstr(row->name, "Synchronize");
}

/* A call keeps the behaviour that it began with. A call that begins during the change
 * may get half of it, so change a function's behaviour only while nobody calls it. */
static void apply(struct stub_row *row, const struct behaviour *b)
{
	row->b = *b;
	atomic_store(&row->calls, 0);
	atomic_store(&row->set, is_set(b) || waits(row));
}

API void cudastub_on_sync(stub_wait *wait)
{
	atomic_store(&waiter, wait);
	for (struct stub_table *t = tables; t; t = t->next)
		for (unsigned i = 0; i < t->n; i++)
			if (waits(&t->rows[i]))
				atomic_store(&t->rows[i].set, 1);
}

/* Gives b to the rows called name; returns how many there were, -1 if one cannot nest. */
static int apply_named(struct stub_table *t, const char *name, const struct behaviour *b)
{
	int all = !strcmp(name, "*"), found = 0;

	for (unsigned i = 0; i < t->n; i++) {
		struct stub_row *row = &t->rows[i];
		struct behaviour mine = *b;

		if (!all && strcmp(row->name, name))
			continue;
		if (b->nested && !strncmp(row->driver, "no_driver", 9)) {
			if (!all)
				return -1;
			mine.nested = 0;
		}
		apply(row, &mine);
		found++;
	}
	return found;
}

/* Splits "name:list" in place. */
static int parse_clause(char *clause, struct behaviour *b)
{
	char *colon = strchr(clause, ':');

	if (!colon)
		return -1;
	*colon = 0;
	return parse_list(colon + 1, b);
}

/* Applies spec to one table, or to all if only is NULL, in which case every name must exist. */
static int apply_spec(const char *spec, struct stub_table *only)
{
	char *copy = strdup(spec), *save, *clause;
	struct behaviour b;
	int rc = copy ? 0 : -1;

	for (clause = copy ? strtok_r(copy, ";", &save) : NULL; clause && !rc; clause = strtok_r(NULL, ";", &save)) {
		int found = 0;

		rc = parse_clause(clause, &b);
		for (struct stub_table *t = only ? only : tables; t && !rc; t = only ? NULL : t->next) {
			int n = apply_named(t, clause, &b);

			rc = n < 0 ? -1 : 0;
			found += n;
		}
		if (!rc && !only && !found)
			rc = -1;
	}
	free(copy);
	return rc;
}

API int cudastub_set(const char *spec)
{
	return apply_spec(spec, NULL);
}

API int cudastub_once(const char *spec)
{
	struct behaviour b;
	char copy[256];

	if (strlen(spec) >= sizeof(copy))
		return -1;
	strcpy(copy, spec);
	if (parse_clause(copy, &b))
		return -1;
	for (struct stub_table *t = tables; t; t = t->next)
		for (unsigned i = 0; i < t->n; i++)
			if (!strcmp(t->rows[i].name, copy)) {
				once_row = &t->rows[i];
				once_b = b;
				atomic_store(&once_row->set, 1);
				return 0;
			}
	return -1;
}

/* Runs once per library, from its constructor. The environment may name functions
 * of libraries not loaded yet, so unknown names are no error here. */
API void cudastub_register(struct stub_table *table)
{
	const char *spec = getenv("CUDASTUB");

	table->next = tables;
	tables = table;
	if (spec && apply_spec(spec, table))
		fprintf(stderr, "cudastub: cannot understand CUDASTUB=%s\n", spec);
	cudastub_on_sync(atomic_load(&waiter)); /* of this table, too */
}
