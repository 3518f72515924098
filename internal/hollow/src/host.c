/* Host functions: run by a thread of the driver's, when their stream has come to them. */
#include <stdlib.h>
#include <time.h>

#include "engine.h"

struct call {
	struct call *next;
	void (*fn)(void *);
	void *arg, *gate;
	uint64_t start;
};

static struct call *first, **last = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static bool running;

static void *run_calls(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!first)
			pthread_cond_wait(&more, &lock);
		struct call *c = first;
		if (!(first = c->next))
			last = &first;
		pthread_mutex_unlock(&lock);
		for (uint64_t now; (now = hollow_now()) < c->start;) {
			struct timespec t = {.tv_sec = (time_t)((c->start - now) / 1000000000u),
					     .tv_nsec = (long)((c->start - now) % 1000000000u)};
			nanosleep(&t, NULL);
		}
		c->fn(c->arg);
		hollow_gate_finish(c->gate, hollow_now());
		free(c);
	}
	return unused;
}

static void reached(void *gate, void *arg, uint64_t start)
{
	struct call *c = arg;
	c->gate = gate;
	c->start = start;
	pthread_mutex_lock(&lock);
	if (!running) {
		pthread_t t;
		running = !pthread_create(&t, NULL, run_calls, NULL);
		if (running)
			pthread_detach(t);
	}
	c->next = NULL;
	*last = c;
	last = &c->next;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

void stream_host(struct stream *s, void (*fn)(void *), void *arg)
{
	struct call *c = calloc(1, sizeof *c);
	c->fn = fn;
	c->arg = arg;
	stream_gate(s, NULL, reached, c);
}
