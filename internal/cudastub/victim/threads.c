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

void sleep_unless_stopped(const struct run *r, uint64_t until_ns)
{
	while (!r->stop && now_ns() < until_ns) {
		uint64_t soon = now_ns() + 50 * NS_PER_MS; /* so that the end of the run is seen in time */

		sleep_until_ns(soon < until_ns ? soon : until_ns);
	}
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
