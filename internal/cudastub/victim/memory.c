/* mem-pressure: the victim's memory control group is full of file pages, so for every
 * page that it needs it has to reclaim one first. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

/* A limit this small keeps most of the pages waiting for the disk, so that reclaim waits too. */
enum { LIMIT = 8 << 20, FILE_BYTES = 256 << 20, CHUNK = 64 << 10 };

static struct cgroup cg;
static int fd = -1;
static off_t at;

/* Where the disk is slow all pages of the group may be on their way to it at a time, and then what the kernel must have
 * at once ends a process of the group: not this one, which is to wait. Without the right to say so it may be ended. */
static void spare(const char *adjust)
{
	int f = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (f < 0)
		return;
	dprintf(f, "%s", adjust);
	close(f);
}

static int enter(struct injection *in, struct dispatcher *d)
{
	const char *dir = in->run->o.dir;
	char path[512], text[32];

	(void)d;
	snprintf(path, sizeof(path), "%s/victim-%d-cache.tmp", dir, getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse("cannot write a file in %s", dir);
	unlink(path);
	if (enter_cgroup(&cg, in->run, "memory"))
		return -1;
	snprintf(text, sizeof(text), "%d", LIMIT);
	if (!cgroup_write(&cg, cg.version == 1 ? "memory.limit_in_bytes" : "memory.max", text)) {
		spare("-1000");
		return 0;
	}
	cgroup_leave(&cg);
	return refuse("no memory limit can be set here");
}

FRAME static void cache_samples(struct injection *in, struct dispatcher *d)
{
	static char chunk[CHUNK];
	uint64_t t = now_ns(), ns;

	(void)d;
	if (!injection_due(in, t))
		return;
	ns = injection_ns(in);
	while (now_ns() - t < ns) {
		ssize_t n = pwrite(fd, chunk, sizeof(chunk), at);

		if (n > 0)
			at = (at + n) % FILE_BYTES;
		else if (errno != ENOMEM)
			break;
	}
	inject(in, (int64_t)(now_ns() - t));
}

static void leave(struct injection *in)
{
	(void)in;
	close(fd);
	cgroup_leave(&cg);
	spare("0");
}

const struct fault fault_mem_pressure = {
	.name = "mem-pressure", .parts = PART_CGROUP, .self = 1, .prepare = enter, .host = cache_samples, .end = leave,
};
