#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../stub/api.h"
#include "loop.h"

static struct run the_run; /* static, because the signal handler must find it */

static void on_signal(int sig)
{
	(void)sig;
	the_run.stop = 1;
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
}

static int set_behaviour(const struct options *o)
{
	const char *nested = o->nested ? ",nested" : "";
	char spec[256];

	snprintf(spec, sizeof(spec),
		 "cudaLaunchKernel:spin=%ldus%s;cudaMemcpyAsync:spin=%ldus%s;cudaStreamSynchronize:sleep=%ldus%s",
		 o->launch_us, nested, o->memcpy_us, nested, o->sync_us, nested);
	return cudastub_set(spec);
}

static void train(struct dispatcher *d)
{
	uint64_t pace = (uint64_t)d->run->o.pace_us * NS_PER_US, next = d->run->start_ns;

	while (!run_over(d->run, d)) {
		run_step(d);
		if (!pace)
			continue;
		next += pace;
		if (next > now_ns())
			sleep_until_ns(next);
	}
}

static void add_idle(struct dispatcher *d, uint64_t ns)
{
	d->run->truth.idle_ns += ns;
}

/* The server: waits for a request, runs one step, replies. */
static void serve_requests(struct dispatcher *d)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	char request;

	epoll_ctl(ep, EPOLL_CTL_ADD, d->server_fd, &ev);
	while (!run_over(d->run, d)) {
		uint64_t t = now_ns();
		int n = epoll_wait(ep, &ev, 1, 100);

		add_idle(d, now_ns() - t);
		if (n <= 0)
			continue;
		if (recv(d->server_fd, &request, 1, 0) != 1)
			break;
		run_step(d);
		if (send(d->server_fd, &request, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	close(ep);
}

static struct rusage thread_usage(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u;
}

/* How long this thread was runnable but did not run; 0 if the kernel does not report it. */
static uint64_t runnable_ns(void)
{
	unsigned long long ran, waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

static void dispatch(struct dispatcher *d)
{
	struct truth *truth = &d->run->truth;
	struct rusage before = thread_usage(), after;
	uint64_t cpu = thread_cpu_ns(), runnable = runnable_ns();

	d->tid = thread_id();
	if (d->primary) {
		truth->tid = d->tid;
		thread_comm(truth->comm);
	}
	if (d->server_fd >= 0)
		serve_requests(d);
	else
		train(d);
	d->cpu_ns = thread_cpu_ns() - cpu;
	d->runnable_ns = runnable_ns() - runnable;
	if (!d->primary)
		return;
	after = thread_usage();
	truth->involuntary = after.ru_nivcsw - before.ru_nivcsw;
	truth->voluntary = after.ru_nvcsw - before.ru_nvcsw;
	truth->major_faults = after.ru_majflt - before.ru_majflt;
}

static void *dispatch_thread(void *arg)
{
	struct dispatcher *d = arg;

	if (d->run->o.thread)
		name_thread(d->run->o.thread);
	if (d->run->o.pin >= 0 && d->primary)
		pin_to_cpu(d->run->o.pin);
	dispatch(d);
	return NULL;
}

/* Runs the dispatchers: the first on the main thread, unless --thread gives it another name. */
static void dispatch_all(struct run *r, struct dispatcher *d)
{
	long first = r->o.thread ? 0 : 1, started;

	for (started = first; started < r->o.dispatchers; started++)
		if (pthread_create(&d[started].thread, NULL, dispatch_thread, &d[started]))
			break;
	if (!r->o.thread) {
		if (r->o.pin >= 0)
			pin_to_cpu(r->o.pin);
		dispatch(&d[0]);
	}
	for (long i = first; i < started; i++)
		pthread_join(d[i].thread, NULL);
}

/* Sets up what the options ask for; the first fault has the name that was given. */
static void plan_injections(struct run *r)
{
	const struct fault *faults[MAX_INJECTIONS] = {r->o.fault, r->o.also};

	for (int i = 0; i < MAX_INJECTIONS && faults[i]; i++) {
		struct injection *in = &r->in[r->n_injections++];

		*in = (struct injection){.fault = faults[i], .run = r, .name = faults[i]->culprit,
					 .rng = (uint64_t)(r->o.seed + i + 1) * 0xd1342543de82ef95ull};
		if (!i && r->o.culprit)
			in->name = r->o.culprit;
	}
}

/* The second fault strikes between two strikes of the first. */
static void set_clock(struct run *r)
{
	r->start_ns = now_ns();
	r->began_ns = unix_ns();
	r->end_ns = r->start_ns + (uint64_t)(r->o.seconds * 1e9);
	r->fault_ns = r->start_ns + (uint64_t)(r->o.start_after * 1e9);
	for (int i = 0; i < r->n_injections; i++)
		r->in[i].next_ns = r->fault_ns + (uint64_t)i * (uint64_t)r->o.period_ms * NS_PER_MS / 2;
}

static int set_up(struct run *r)
{
	for (int i = 0; i < r->n_injections; i++)
		if (r->in[i].fault->setup && r->in[i].fault->setup(&r->in[i]))
			return -1;
	return 0;
}

/* Starts child processes, before any thread exists. */
static int prepare(struct run *r, struct dispatcher *d)
{
	for (int i = 0; i < r->n_injections; i++) {
		if (r->in[i].fault->prepare && r->in[i].fault->prepare(&r->in[i], d))
			return -1;
		r->in[i].prepared = 1;
	}
	if (r->o.ping_pong >= 0)
		start_ping_pong(r, r->o.ping_pong);
	return 0;
}

static int start(struct run *r)
{
	for (int i = 0; i < r->n_injections; i++)
		if (r->in[i].fault->start && r->in[i].fault->start(&r->in[i]))
			return -1;
	return 0;
}

/* Removes what was prepared; there are no threads to be joined. */
static void abandon(struct run *r)
{
	for (int i = 0; i < r->n_injections; i++)
		if (r->in[i].prepared && r->in[i].fault->end && !r->in[i].fault->start)
			r->in[i].fault->end(&r->in[i]);
	end_children(r);
}

static void finish(struct run *r, struct dispatcher *d)
{
	double seconds = (double)(now_ns() - r->start_ns) / 1e9;

	for (int i = 0; i < r->n_injections; i++) {
		struct injection *in = &r->in[i];

		if (in->fault->end)
			in->fault->end(in);
		if (!in->fault->self)
			continue;
		in->culprit = (struct who){.pid = getpid(), .tid = r->truth.tid};
		memcpy(in->culprit.comm, r->truth.comm, sizeof(in->culprit.comm));
	}
	end_children(r);
	print_truth(r, d, (int)r->o.dispatchers, seconds);
}

static void wait_for_word(struct run *r)
{
	char ch;

	while (r->o.wait_stdin && !r->stop && read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n')
		;
}

/* Runs the threads; -1 if those of a fault cannot be started. */
static int run_threads(struct run *r, struct dispatcher *d)
{
	pthread_t sleeper;
	int has_sleeper;

	if (start(r))
		return -1;
	has_sleeper = r->o.sleeper && !start_sleeper(r, &sleeper);
	dispatch_all(r, d);
	r->stop = 1;
	if (has_sleeper)
		pthread_join(sleeper, NULL);
	return 0;
}

int run_loop(const struct options *o)
{
	static struct dispatcher d[MAX_DISPATCHERS];
	static struct made made[MAX_DISPATCHERS][CALLS];
	struct run *r = &the_run;

	r->o = *o;
	r->main_ns = unix_ns();
	r->driver_launches = o->nested;
	pthread_mutex_init(&r->metrics, NULL);
	name_thread(o->name);
	catch_signals();
	if (set_behaviour(o))
		return EXIT_USAGE;
	if (o->cpus && keep_to_cpus(o->cpus))
		return EXIT_UNSUPPORTED;
	for (int i = 0; i < MAX_DISPATCHERS; i++)
		d[i] = (struct dispatcher){.run = r, .primary = !i, .server_fd = -1, .made = made[i],
					   .rng = (uint64_t)(o->seed + i + 1) * 0x9e3779b97f4a7c15ull};
	memset(made, 0, sizeof(made[0]) * (size_t)o->dispatchers); /* no page faults between calls */
	plan_injections(r);
	if (set_up(r))
		return EXIT_UNSUPPORTED;
	wait_for_word(r);
	set_clock(r);
	if (prepare(r, &d[0]) || run_threads(r, d)) {
		abandon(r);
		return EXIT_UNSUPPORTED;
	}
	finish(r, d);
	return 0;
}
