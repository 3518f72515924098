/* Who takes the CPU away: another process, or threads of our own. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loop.h"

enum { MAX_HOGS = 64 };

FRAME static void compress_backup(uint64_t ns)
{
	work_ns(ns);
}

static void take_priority(const struct options *o)
{
	struct sched_param p = {.sched_priority = (int)o->rt};

	if (o->nice)
		setpriority(PRIO_PROCESS, 0, (int)o->nice); /* of this thread */
	if (o->rt)
		sched_setscheduler(0, SCHED_FIFO, &p);
}

/* Tries --nice and --rt: there is no other way to find out whether they are permitted. */
static int try_priority(const struct options *o)
{
	struct sched_param p = {.sched_priority = (int)o->rt}, none = {0};

	if (o->nice < 0) {
		if (setpriority(PRIO_PROCESS, 0, (int)o->nice))
			return refuse("nice %ld is not permitted here", o->nice);
		setpriority(PRIO_PROCESS, 0, 0);
	}
	if (o->rt) {
		if (sched_setscheduler(0, SCHED_FIFO, &p))
			return refuse("real-time priority %ld is not permitted here", o->rt);
		sched_setscheduler(0, SCHED_OTHER, &none);
	}
	return 0;
}

/* One spinning thread of the hog. */
static void *burn(void *arg)
{
	const struct run *r = arg;
	uint64_t period = (uint64_t)r->o.period_ms * NS_PER_MS;
	uint64_t busy = period * (uint64_t)r->o.duty / 100;

	take_priority(&r->o);
	sleep_unless_stopped(r, r->fault_ns);
	for (uint64_t next = now_ns() + period; !r->stop; next += period) {
		uint64_t until = next - period + busy;

		while (!r->stop && now_ns() < until)
			compress_backup(100 * NS_PER_US);
		if (busy < period)
			sleep_unless_stopped(r, next);
	}
	return NULL;
}

/* The scheduler is fair: a dispatcher that needs a third of a CPU hardly feels one
 * hog beside it, so the hog has several threads. */
static void hog(struct run *r, void *arg)
{
	pthread_t thread;

	(void)arg;
	for (long i = 1; i < r->o.hogs; i++)
		pthread_create(&thread, NULL, burn, r);
	burn(r);
}

int start_hog(struct injection *in, int cpu)
{
	pid_t pid;

	if (try_priority(&in->run->o))
		return -1;
	pid = start_child(in->run, in->name, cpu, hog, NULL);
	in->culprit = a_process(pid, in->name);
	in->count = 1;
	return pid > 0 ? 0 : refuse("cannot start a process");
}

int pin_dispatcher(struct run *r)
{
	int cpu = sched_getcpu();

	if (r->o.pin == PIN_DEFAULT)
		r->o.pin = cpu;
	return r->o.pin >= 0 ? r->o.pin : cpu;
}

/* All threads are started later, and inherit it. */
int keep_to_cpus(long n)
{
	cpu_set_t all, set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(all), &all) || n > CPU_COUNT(&all))
		return refuse("there are no %ld CPUs to use", n);
	for (size_t cpu = 0; n > 0; cpu++)
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &set);
			n--;
		}
	return sched_setaffinity(0, sizeof(set), &set) ? refuse("cannot choose CPUs") : 0;
}

/* A helper on the dispatcher's CPU would be a second fault, as it would take its CPU time. */
int cpu_apart(struct run *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int cpu = pin_dispatcher(r);

	return cpus < 2 ? PIN_NONE : (int)((cpu + 1) % cpus);
}

void keep_apart(struct run *r)
{
	int cpu = cpu_apart(r);

	if (cpu >= 0)
		pin_to_cpu(cpu);
}

static int hog_process(struct injection *in, struct dispatcher *d)
{
	(void)d;
	return start_hog(in, pin_dispatcher(in->run));
}

const struct fault fault_cpu_hog = {
	.name = "cpu-hog", .culprit = "backup-agent", .parts = PART_CPU, .prepare = hog_process,
};

/* sibling-hog: the same within the process. */
static pthread_t siblings[MAX_HOGS];
static int n_siblings, sibling_cpu;

static void *sibling(void *arg)
{
	struct injection *in = arg;

	name_thread(in->name);
	pin_to_cpu(sibling_cpu);
	if (pthread_equal(pthread_self(), siblings[0]))
		in->culprit = this_thread();
	return burn(in->run);
}

static int choose_cpu(struct injection *in, struct dispatcher *d)
{
	(void)d;
	sibling_cpu = pin_dispatcher(in->run);
	return try_priority(&in->run->o);
}

static int start_siblings(struct injection *in)
{
	long n = in->run->o.hogs;

	for (n_siblings = 0; n_siblings < n && n_siblings < MAX_HOGS; n_siblings++)
		if (pthread_create(&siblings[n_siblings], NULL, sibling, in))
			return refuse("cannot start a thread");
	in->count = 1;
	return 0;
}

static void join_siblings(struct injection *in)
{
	(void)in;
	while (n_siblings > 0)
		pthread_join(siblings[--n_siblings], NULL);
}

const struct fault fault_sibling_hog = {
	.name = "sibling-hog", .culprit = "tokenizer", .parts = PART_CPU, .prepare = choose_cpu,
	.start = start_siblings, .end = join_siblings,
};
