/* Faults of a mutex that every step takes: a sibling thread holds it too long. */
#define _GNU_SOURCE
#include "loop.h"

static pthread_t holder;

static void compute(struct injection *in, uint64_t ns)
{
	(void)in;
	work_ns(ns);
}

static void save(struct injection *in, uint64_t ns)
{
	write_for(in->run->o.dir, ns);
}

extern const struct fault fault_lock_io;

FRAME static void flush_metrics(struct injection *in)
{
	struct run *r = in->run;

	pthread_mutex_lock(&r->metrics);
	(in->fault == &fault_lock_io ? save : compute)(in, injection_ns(in));
	strike(in);
	pthread_mutex_unlock(&r->metrics);
}

static void *hold(void *arg)
{
	struct injection *in = arg;

	name_thread(in->name);
	keep_apart(in->run);
	in->holder = in->culprit = this_thread();
	for (;;) {
		sleep_unless_stopped(in->run, in->next_ns);
		if (in->run->stop)
			return NULL;
		flush_metrics(in);
		while (in->next_ns <= now_ns())
			injection_next(in);
	}
}

static int start_holder(struct injection *in)
{
	pin_dispatcher(in->run);
	return pthread_create(&holder, NULL, hold, in) ? refuse("cannot start a thread") : 0;
}

static void join_holder(struct injection *in)
{
	(void)in;
	pthread_join(holder, NULL);
}

/* pi-lock: the thread that holds the mutex inherits the priority of the one that waits for
 * it. This uses other futex operations than a plain mutex. */
static int inherit_priority(struct injection *in)
{
	pthread_mutexattr_t attr;
	int rc = pthread_mutexattr_init(&attr);

	if (!rc)
		rc = pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_destroy(&in->run->metrics);
	if (!rc)
		rc = pthread_mutex_init(&in->run->metrics, &attr);
	pthread_mutexattr_destroy(&attr);
	return rc ? refuse("there are no priority-inheriting mutexes here") : 0;
}

const struct fault fault_lock = {
	.name = "lock", .culprit = "metrics-flush", .parts = PART_METRICS, .start = start_holder, .end = join_holder,
};
const struct fault fault_lock_io = {
	.name = "lock-io", .culprit = "metrics-flush", .parts = PART_METRICS, .start = start_holder, .end = join_holder,
};
const struct fault fault_pi_lock = {
	.name = "pi-lock", .culprit = "metrics-flush", .parts = PART_METRICS, .setup = inherit_priority,
	.start = start_holder, .end = join_holder,
};
