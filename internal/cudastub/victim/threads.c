#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

static char block[256 << 10];

void write_for(const char *dir, uint64_t ns)
{
	uint64_t begin = now_ns();
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/victim-%d-%d.tmp", dir, getpid(), thread_id());
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(path);
		return;
	}
	do {
		if (pwrite(fd, block, sizeof(block), 0) < 0 || fsync(fd))
			break;
	} while (now_ns() - begin < ns);
	close(fd);
	unlink(path);
}

__attribute__((noipa)) static void flush_metrics(struct run *r)
{
	uint64_t ns = (uint64_t)r->o.fault_ms * NS_PER_MS;

	pthread_mutex_lock(&r->metrics);
	if (r->o.fault == FAULT_LOCK_IO)
		write_for(r->o.dir, ns);
	else
		work_ns(ns);
	r->truth.fault_count++;
	pthread_mutex_unlock(&r->metrics);
}

/* Sleeps in short pieces, so that the end of the run is seen in time. */
static void sleep_unless_stopped(const struct run *r, uint64_t until)
{
	while (!r->stop && now_ns() < until) {
		uint64_t soon = now_ns() + 50 * NS_PER_MS;

		sleep_until_ns(soon < until ? soon : until);
	}
}

static void *hold(void *arg)
{
	struct run *r = arg;
	uint64_t next = r->fault_ns, period = (uint64_t)r->o.period_ms * NS_PER_MS;

	name_thread(r->o.culprit);
	thread_comm(r->truth.holder_comm);
	r->truth.holder_tid = thread_id();
	for (;;) {
		sleep_unless_stopped(r, next);
		if (r->stop)
			return NULL;
		flush_metrics(r);
		while (next <= now_ns())
			next += period;
	}
}

int start_holder(struct run *r, pthread_t *thread)
{
	return pthread_create(thread, NULL, hold, r);
}

static void *poll_idly(void *arg)
{
	struct run *r = arg;

	name_thread("sleeper");
	while (!r->stop)
		poll(NULL, 0, 100);
	return NULL;
}

int start_sleeper(struct run *r, pthread_t *thread)
{
	return pthread_create(thread, NULL, poll_idly, r);
}
