/* Faults among threads that are not about a mutex held too long: a worker thread
 * that is late with its result, and an interpreter lock. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "loop.h"

#define PROMPT_NS (20 * NS_PER_US) /* what a healthy answer costs */

/* cond: each step the dispatcher hands its worker a task and waits for the end of it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, answered;
	uint64_t task_ns; /* 0: nothing to do */
	int stop;
	pthread_t thread;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

FRAME static void augment(uint64_t ns)
{
	work_ns(ns);
}

static void *work(void *arg)
{
	struct injection *in = arg;

	name_thread(in->name);
	keep_apart(in->run);
	in->culprit = this_thread();
	pthread_mutex_lock(&desk.lock);
	for (;;) {
		uint64_t ns;

		while (!desk.task_ns && !desk.stop)
			pthread_cond_wait(&desk.asked, &desk.lock);
		if (desk.stop)
			break;
		ns = desk.task_ns;
		pthread_mutex_unlock(&desk.lock);
		augment(ns);
		pthread_mutex_lock(&desk.lock);
		desk.task_ns = 0;
		pthread_cond_signal(&desk.answered);
	}
	pthread_mutex_unlock(&desk.lock);
	return NULL;
}

static int start_worker(struct injection *in)
{
	pin_dispatcher(in->run);
	return pthread_create(&desk.thread, NULL, work, in) ? refuse("cannot start a thread") : 0;
}

static void dismiss_worker(struct injection *in)
{
	(void)in;
	pthread_mutex_lock(&desk.lock);
	desk.stop = 1;
	pthread_cond_signal(&desk.asked);
	pthread_mutex_unlock(&desk.lock);
	pthread_join(desk.thread, NULL);
}

FRAME static void wait_for_augmentation(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();
	int slow = injection_due(in, t);

	pthread_mutex_lock(&desk.lock);
	desk.task_ns = slow ? injection_ns(in) : PROMPT_NS;
	pthread_cond_signal(&desk.asked);
	while (desk.task_ns)
		pthread_cond_wait(&desk.answered, &desk.lock);
	pthread_mutex_unlock(&desk.lock);
	if (slow)
		inject(in, over_baseline(&in->healthy, now_ns() - t, PROMPT_NS));
	else
		learn(d, &in->healthy, now_ns() - t);
}

const struct fault fault_cond = {
	.name = "cond", .culprit = "augment-worker", .start = start_worker, .host = wait_for_augmentation,
	.end = dismiss_worker,
};

/* gil: CPython's global interpreter lock (Python/ceval_gil.c): a thread that wants
 * it waits 5 ms, then asks the holder to drop it, and a holder that dropped it on request
 * waits until another thread has taken it. */
#define SWITCH_INTERVAL_NS (5 * NS_PER_MS)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t free, switched;
	int locked, drop_request;
	unsigned long switches, holder; /* holder: number of the thread, from 1 */
	pthread_t hog;
} gil = {.lock = PTHREAD_MUTEX_INITIALIZER, .free = PTHREAD_COND_INITIALIZER, .switched = PTHREAD_COND_INITIALIZER};

enum { DISPATCHER = 1, HOG = 2 };

FRAME static void take_gil(unsigned long me)
{
	pthread_mutex_lock(&gil.lock);
	while (gil.locked) {
		unsigned long before = gil.switches;
		struct timespec until;
		int rc;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)SWITCH_INTERVAL_NS;
		if (until.tv_nsec >= (long)NS_PER_S) {
			until.tv_nsec -= (long)NS_PER_S;
			until.tv_sec++;
		}
		rc = pthread_cond_timedwait(&gil.free, &gil.lock, &until);
		if (rc == ETIMEDOUT && gil.locked && gil.switches == before)
			__atomic_store_n(&gil.drop_request, 1, __ATOMIC_RELAXED);
	}
	gil.locked = 1;
	if (gil.holder != me) {
		gil.holder = me;
		gil.switches++;
	}
	pthread_cond_signal(&gil.switched);
	__atomic_store_n(&gil.drop_request, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gil.lock);
}

static void drop_gil(unsigned long me)
{
	pthread_mutex_lock(&gil.lock);
	gil.locked = 0;
	pthread_cond_signal(&gil.free);
	while (__atomic_load_n(&gil.drop_request, __ATOMIC_RELAXED) && gil.holder == me)
		pthread_cond_wait(&gil.switched, &gil.lock);
	pthread_mutex_unlock(&gil.lock);
}

FRAME static void eval_frame(const struct run *r, uint64_t ns)
{
	uint64_t used = 0, piece = 20 * NS_PER_US;

	take_gil(HOG);
	for (; used < ns && !r->stop; used += piece) {
		work_ns(piece);
		if (__atomic_load_n(&gil.drop_request, __ATOMIC_RELAXED)) {
			drop_gil(HOG);
			take_gil(HOG);
		}
	}
	drop_gil(HOG);
}

static void *interpret(void *arg)
{
	struct injection *in = arg;

	name_thread(in->name);
	keep_apart(in->run);
	in->culprit = in->holder = this_thread();
	for (;;) {
		sleep_unless_stopped(in->run, in->next_ns);
		if (in->run->stop)
			return NULL;
		eval_frame(in->run, injection_ns(in));
		strike(in);
		while (in->next_ns <= now_ns())
			injection_next(in);
	}
}

static int start_interpreter(struct injection *in)
{
	pin_dispatcher(in->run);
	return pthread_create(&gil.hog, NULL, interpret, in) ? refuse("cannot start a thread") : 0;
}

static void join_interpreter(struct injection *in)
{
	(void)in;
	pthread_join(gil.hog, NULL);
}

/* A program in Python holds the lock, except while it waits for the device. */
static void enter_python(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns(), took;

	take_gil(DISPATCHER);
	took = now_ns() - t;
	learn(d, &in->healthy, took);
	if (t >= d->run->fault_ns)
		in->injected_ns += over_baseline(&in->healthy, took, 0);
}

static int leave_python(struct injection *in, struct dispatcher *d)
{
	(void)in;
	(void)d;
	drop_gil(DISPATCHER);
	return 0;
}

const struct fault fault_gil = {
	.name = "gil", .culprit = "py-logger", .start = start_interpreter, .host = enter_python,
	.before_sync = leave_python, .end = join_interpreter,
};
