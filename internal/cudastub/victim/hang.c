/* "hang OP on=WHAT [at=FN]": a thread of its own makes the call, whose body does
 * not return. WHAT is
 *
 *   lock      a mutex that another thread holds while it sleeps
 *   deadlock  a second thread makes the same call: each holds the mutex the other wants
 *   read      a read of the FIFO "path=FILE" into which nobody writes
 *   spin      nothing: it computes
 *
 * It is answered once the body has been entered. "release" lets a thread that waits
 * for the lock go on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "serve.h"

#define KEPT __attribute__((noinline))

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static atomic_int entered, released, spinning = 1;

/* One for each thread: the next command may come before this one has reached its wait. */
struct hang {
	const struct op *op;
	struct call_args args;
	void (*body)(void);
	char path[512];
	int first; /* which lock it holds, for a deadlock */
	atomic_int tid; /* once it has entered the call */
};
static __thread struct hang *mine;

static KEPT void wait_for_lock(void)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static KEPT void wait_for_each_other(void)
{
	pthread_mutex_lock(&locks[mine->first]);
	entered++;
	while (entered < 2)
		usleep(1000);
	pthread_mutex_lock(&locks[!mine->first]);
}

static KEPT void read_fifo(void)
{
	char c;
	int fd = open(mine->path, O_RDWR);

	if (fd >= 0 && read(fd, &c, 1) != 1)
		close(fd);
}

static KEPT void spin_for_ever(void)
{
	while (spinning)
		;
}

static void enter(void *arg)
{
	(void)arg;
	if (!mine)
		return;
	mine->tid = thread_id();
	mine->body();
}

static KEPT void make_the_call(struct hang *h)
{
	h->op->call(&h->args);
	h->tid = 0; /* not a tail call */
}

static void *caller(void *arg)
{
	mine = arg;
	name_thread("victim-hanging");
	make_the_call(mine);
	return NULL;
}

/* Stores its thread id in arg when it has the lock. */
static void *holder(void *arg)
{
	name_thread("victim-holding");
	pthread_mutex_lock(&held);
	*(atomic_int *)arg = thread_id();
	while (!released)
		usleep(10000);
	pthread_mutex_unlock(&held);
	return NULL;
}

static int start(pthread_t *thread, void *(*fn)(void *), void *arg, atomic_int *until)
{
	if (pthread_create(thread, NULL, fn, arg))
		return -1;
	pthread_detach(*thread);
	while (!*until)
		usleep(1000);
	return 0;
}

void cmd_hang(const struct command *c)
{
	struct hang *hangs;
	static atomic_int holding;
	static const struct {
		const char *name;
		void (*body)(void);
		int threads;
	} ways[] = {
		{"lock", wait_for_lock, 1}, {"deadlock", wait_for_each_other, 2},
		{"read", read_fifo, 1}, {"spin", spin_for_ever, 1},
	};
	const char *on = option(c, "on"), *at = option(c, "at"), *file = option(c, "path");
	const struct op *op = command_op(c);
	pthread_t thread;
	char spec[256];

	if (!op)
		return;
	if (at && strcmp(at, op->name))
		snprintf(spec, sizeof(spec), "%s:nested;%s:callback", op->name, at);
	else
		snprintf(spec, sizeof(spec), "%s:callback", op->name);
	if (stub_set(spec) || (file && mkfifo(file, 0600))) {
		answer("err cannot arm %s", spec);
		return;
	}
	stub_callback(enter, NULL);
	hangs = calloc(2, sizeof(*hangs)); /* never freed: the threads use them */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!on || strcmp(on, ways[i].name))
			continue;
		if (ways[i].body == wait_for_lock && start(&thread, holder, &holding, &holding))
			break;
		for (int n = 0; n < ways[i].threads; n++) {
			hangs[n] = (struct hang){.op = op, .args = parse_args(c), .body = ways[i].body, .first = n};
			snprintf(hangs[n].path, sizeof(hangs[n].path), "%s", file ? file : "");
			if (start(&thread, caller, &hangs[n], &hangs[n].tid)) {
				answer("err cannot start a thread");
				return;
			}
		}
		answer("ok tid=%d other=%d holder=%d", hangs[0].tid, hangs[1].tid, holding);
		return;
	}
	answer("err hang on what?");
}

void cmd_release(const struct command *c)
{
	(void)c;
	released = 1;
	spinning = 0;
	answer("ok");
}
