/* loader-*: a worker process prepares batches and writes them into a pipe, from
 * which each step reads one. The worker is ahead by what the pipe holds; when it
 * falls behind further than that, the dispatcher waits in read. Of several workers,
 * each has a pipe, and steps read from them in turn. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "loop.h"

enum { BATCH = 4096, AHEAD = 4 }; /* bytes; batches that a pipe holds */

#define BATCH_NS (100 * NS_PER_US)      /* a worker's healthy time for a batch, an eighth of a step */
#define HARD_BATCH_NS (400 * NS_PER_US) /* one that leaves no room for a hog */

extern const struct fault fault_loader_hog, fault_loader_io, fault_loader_crowd;

struct batch {
	uint64_t late; /* 1: the fault made it late */
	char rows[BATCH - sizeof(uint64_t)];
};

static int pipes[MAX_WORKERS][2];
static int n_workers;

FRAME static void decode_images(uint64_t ns)
{
	work_ns(ns);
}

/* With a hog the worker itself is never slow; in a crowd each batch is, once faults have begun. */
static int batch_is_late(struct injection *in)
{
	if (in->fault == &fault_loader_crowd)
		return faulty(in);
	return in->fault != &fault_loader_hog && injection_due(in, now_ns());
}

FRAME static void prepare_batch(struct injection *in, struct batch *b)
{
	decode_images(in->fault == &fault_loader_hog ? HARD_BATCH_NS : BATCH_NS);
	b->late = batch_is_late(in);
	if (b->late && in->fault == &fault_loader_io)
		read_cold(in, injection_ns(in));
	else if (b->late)
		decode_images(injection_ns(in));
}

static void load_batches(struct run *r, void *arg)
{
	static struct batch b;
	struct injection *in = arg;
	int out = pipes[n_workers][1];

	(void)r;
	in->rng ^= (uint64_t)n_workers << 32; /* each worker has its own random numbers */
	for (int i = 0; i <= n_workers; i++)
		close(pipes[i][0]);
	do
		prepare_batch(in, &b);
	while (write(out, &b, sizeof(b)) == sizeof(b));
}

static pid_t start_loader(struct injection *in, const char *name, int cpu)
{
	int *fds = pipes[n_workers];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) || fcntl(fds[1], F_SETPIPE_SZ, BATCH * AHEAD) < 0)
		return refuse("cannot make a pipe");
	pid = start_child(in->run, name, cpu, load_batches, in);
	close(fds[1]);
	n_workers++;
	return pid > 0 ? pid : refuse("cannot start a process");
}

static int lone_loader(struct injection *in, struct dispatcher *d)
{
	pid_t pid = start_loader(in, in->name, cpu_apart(in->run));

	(void)d;
	if (pid < 0)
		return -1;
	in->culprit = in->peer = a_process(pid, in->name);
	return 0;
}

/* The worker and the hog share a CPU that the dispatcher does not use. */
static int loader_with_hog(struct injection *in, struct dispatcher *d)
{
	int cpu = cpu_apart(in->run);
	pid_t pid;

	(void)d;
	if (cpu == PIN_NONE)
		return refuse("a worker on a CPU of its own needs two of them");
	pid = start_loader(in, "data-worker", cpu);
	in->peer = a_process(pid, "data-worker");
	return pid < 0 || start_hog(in, cpu) ? -1 : 0;
}

/* All workers share a CPU that the dispatcher does not use. If --fault-ms is as long
 * as a few steps, a worker would be in time if it had a CPU of its own. */
static int crowd_of_loaders(struct injection *in, struct dispatcher *d)
{
	int cpu = cpu_apart(in->run);

	(void)d;
	if (cpu == PIN_NONE)
		return refuse("workers on a CPU of their own need two of them");
	while (n_workers < MAX_WORKERS) {
		pid_t pid = start_loader(in, in->name, cpu);

		if (pid < 0)
			return -1;
		in->crowd[in->n_crowd++] = pid;
	}
	in->culprit = a_process(in->crowd[0], in->name);
	return 0;
}

static int read_batch(int fd, struct batch *b)
{
	size_t got = 0;

	while (got < sizeof(*b)) {
		ssize_t n = read(fd, (char *)b + got, sizeof(*b) - got);

		if (n <= 0)
			return -1; /* the worker ended */
		got += (size_t)n;
	}
	return 0;
}

FRAME static void next_batch(struct injection *in, struct dispatcher *d)
{
	static struct batch b;
	uint64_t t = now_ns(), took;

	if (read_batch(pipes[d->steps % n_workers][0], &b))
		return;
	took = now_ns() - t;
	if (b.late)
		inject(in, over_baseline(&in->healthy, took, 0));
	else if (in->fault == &fault_loader_hog && t >= d->run->fault_ns)
		in->injected_ns += over_baseline(&in->healthy, took, 0);
	else
		learn(d, &in->healthy, took);
}

static void close_loader(struct injection *in)
{
	(void)in;
	while (n_workers > 0)
		close(pipes[--n_workers][0]);
}

const struct fault fault_loader_cpu = {
	.name = "loader-cpu", .culprit = "data-worker", .parts = PART_LOADER, .prepare = lone_loader,
	.host = next_batch, .end = close_loader,
};
const struct fault fault_loader_io = {
	.name = "loader-io", .culprit = "data-worker", .parts = PART_LOADER | PART_FILE, .setup = cold_file,
	.prepare = lone_loader, .host = next_batch, .end = close_loader,
};
const struct fault fault_loader_hog = {
	.name = "loader-hog", .culprit = "backup-agent", .parts = PART_LOADER, .prepare = loader_with_hog,
	.host = next_batch, .end = close_loader,
};
const struct fault fault_loader_crowd = {
	.name = "loader-crowd", .culprit = "data-worker", .parts = PART_LOADER, .prepare = crowd_of_loaders,
	.host = next_batch, .end = close_loader,
};
