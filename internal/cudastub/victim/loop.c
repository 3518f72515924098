#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
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
	/* driver-cpu spins inside the driver's function, so every launch must reach it. */
	const char *nested = o->nested ? ",nested" : "";
	const char *launch = o->nested || o->fault == FAULT_DRIVER_CPU ? ",nested" : "";
	char spec[256];

	snprintf(spec, sizeof(spec),
		 "cudaLaunchKernel:spin=%ldus%s;cudaMemcpyAsync:spin=%ldus%s;cudaStreamSynchronize:sleep=%ldus%s",
		 o->launch_us, launch, o->memcpy_us, nested, o->sync_us, nested);
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

static void read_switches(long *involuntary, long *voluntary)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	*involuntary = u.ru_nivcsw;
	*voluntary = u.ru_nvcsw;
}

static void dispatch(struct dispatcher *d)
{
	struct truth *truth = &d->run->truth;
	long inv0, vol0, inv1, vol1;
	uint64_t cpu = thread_cpu_ns();

	read_switches(&inv0, &vol0);
	if (d->primary) {
		truth->tid = thread_id();
		thread_comm(truth->comm);
	}
	if (d->primary && d->run->o.fault == FAULT_IDLE_SERVER)
		serve_requests(d);
	else
		train(d);
	if (!d->primary)
		return;
	read_switches(&inv1, &vol1);
	truth->involuntary = inv1 - inv0;
	truth->voluntary = vol1 - vol0;
	truth->cpu_ns = thread_cpu_ns() - cpu;
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

/* Runs the dispatchers: the first on the main thread, unless it is to have a name of its own. */
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

static void name_culprit(struct run *r, int pid, int tid, const char *comm)
{
	r->truth.culprit_pid = pid;
	r->truth.culprit_tid = tid;
	snprintf(r->truth.culprit_comm, sizeof(r->truth.culprit_comm), "%.15s", comm);
}

/* Faults that a child process brings about, and the controls. Before any thread exists. */
static int start_processes(struct run *r, struct dispatcher *d)
{
	int pair[2];

	if (r->o.fault == FAULT_CPU_HOG) {
		int cpu = sched_getcpu();

		if (r->o.pin == PIN_DEFAULT)
			r->o.pin = cpu;
		start_hog(r, r->o.pin >= 0 ? r->o.pin : cpu);
		name_culprit(r, r->children[0], r->children[0], r->o.culprit);
	}
	if (r->o.fault == FAULT_IDLE_SERVER) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return -1;
		start_client(r, pair[1]);
		r->truth.client_pid = r->children[0];
		close(pair[1]);
		d->server_fd = pair[0];
	}
	if (r->o.ping_pong >= 0)
		start_ping_pong(r, r->o.ping_pong);
	return 0;
}

/* The dispatching thread is its own culprit in these. */
static int self_inflicted(int fault)
{
	return fault == FAULT_OWN_IO || fault == FAULT_DRIVER_CPU || fault == FAULT_COLD;
}

static void finish(struct run *r, struct dispatcher *d)
{
	struct truth *t = &r->truth;
	double seconds = (double)(now_ns() - r->start_ns) / 1e9;

	t->injected_ns = d[0].injected_ns;
	t->fault_count += d[0].fault_count;
	if (self_inflicted(r->o.fault))
		name_culprit(r, getpid(), t->tid, t->comm);
	if (r->o.fault == FAULT_LOCK || r->o.fault == FAULT_LOCK_IO)
		name_culprit(r, getpid(), t->holder_tid, t->holder_comm);
	throttle_leave(r);
	end_children(r);
	print_truth(r, d, (int)r->o.dispatchers, seconds);
}

static void set_clock(struct run *r)
{
	r->start_ns = now_ns();
	r->end_ns = r->start_ns + (uint64_t)(r->o.seconds * 1e9);
	r->fault_ns = r->o.fault == FAULT_NONE ? UINT64_MAX : r->start_ns + (uint64_t)(r->o.start_after * 1e9);
}

static void wait_for_word(struct run *r)
{
	char ch;

	while (r->o.wait_stdin && !r->stop && read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n')
		;
}

int run_loop(const struct options *o)
{
	static struct dispatcher d[MAX_DISPATCHERS];
	struct run *r = &the_run;
	pthread_t holder, sleeper;
	int has_holder = 0, has_sleeper = 0;

	r->o = *o;
	pthread_mutex_init(&r->metrics, NULL);
	name_thread(o->name);
	catch_signals();
	if (set_behaviour(o))
		return EXIT_USAGE;
	for (int i = 0; i < MAX_DISPATCHERS; i++)
		d[i] = (struct dispatcher){.run = r, .primary = !i,
					   .rng = (uint64_t)(o->seed + i + 1) * 0x9e3779b97f4a7c15ull};
	wait_for_word(r);
	set_clock(r);
	if (start_processes(r, &d[0]) || (o->fault == FAULT_THROTTLE && throttle_enter(r))) {
		end_children(r);
		return EXIT_UNSUPPORTED;
	}
	if (o->fault == FAULT_LOCK || o->fault == FAULT_LOCK_IO)
		has_holder = !start_holder(r, &holder);
	if (o->sleeper)
		has_sleeper = !start_sleeper(r, &sleeper);
	dispatch_all(r, d);
	r->stop = 1;
	if (has_holder)
		pthread_join(holder, NULL);
	if (has_sleeper)
		pthread_join(sleeper, NULL);
	finish(r, d);
	return 0;
}
