/* loader-*: a worker process prepares batches and writes them into a pipe, from
 * which each step reads one. The worker is ahead by what the pipe holds; when it
 * falls behind further than that, the dispatcher waits in read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "loop.h"

enum { BATCH = 4096, AHEAD = 4 }; /* bytes; batches that the pipe holds */

#define BATCH_NS (100 * NS_PER_US)      /* a worker's healthy time for a batch, an eighth of a step */
#define HARD_BATCH_NS (400 * NS_PER_US) /* one that leaves no room for a hog */

extern const struct fault fault_loader_hog, fault_loader_io;

struct batch {
	uint64_t late; /* was it a fault's? */
	char rows[BATCH - sizeof(uint64_t)];
};

static int pipe_fds[2];

FRAME static void decode_images(uint64_t ns)
{
	work_ns(ns);
}

FRAME static void prepare_batch(struct injection *in, struct batch *b)
{
	decode_images(in->fault == &fault_loader_hog ? HARD_BATCH_NS : BATCH_NS);
	b->late = in->fault != &fault_loader_hog && injection_due(in, now_ns());
	if (b->late && in->fault == &fault_loader_io)
		read_cold(in, injection_ns(in));
	else if (b->late)
		decode_images(injection_ns(in));
}

static void load_batches(struct run *r, void *arg)
{
	static struct batch b;

	(void)r;
	close(pipe_fds[0]);
	do
		prepare_batch(arg, &b);
	while (write(pipe_fds[1], &b, sizeof(b)) == sizeof(b));
}

static int start_loader(struct injection *in, const char *name, int cpu)
{
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) || fcntl(pipe_fds[1], F_SETPIPE_SZ, BATCH * AHEAD) < 0)
		return refuse("cannot make a pipe");
	pid = start_child(in->run, name, cpu, load_batches, in);
	close(pipe_fds[1]);
	in->peer = a_process(pid, name);
	return pid > 0 ? 0 : refuse("cannot start a process");
}

static int lone_loader(struct injection *in, struct dispatcher *d)
{
	(void)d;
	if (start_loader(in, in->name, cpu_apart(in->run)))
		return -1;
	in->culprit = in->peer;
	return 0;
}

/* The worker and the hog share a CPU that the dispatcher does not use. */
static int loader_with_hog(struct injection *in, struct dispatcher *d)
{
	int cpu = cpu_apart(in->run);

	(void)d;
	if (cpu == PIN_NONE)
		return refuse("a worker on a CPU of its own needs two of them");
	return start_loader(in, "data-worker", cpu) || start_hog(in, cpu) ? -1 : 0;
}

static int read_batch(struct batch *b)
{
	size_t got = 0;

	while (got < sizeof(*b)) {
		ssize_t n = read(pipe_fds[0], (char *)b + got, sizeof(*b) - got);

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

	if (read_batch(&b))
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
	close(pipe_fds[0]);
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
