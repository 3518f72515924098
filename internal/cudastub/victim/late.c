/* The latenesses of a rank. Each costs a step what it is told to, so that the truth is known
 * before a tracer measures it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cgroup.h"
#include "late.h"

#define FRAME __attribute__((noipa))

FRAME static void sleep_late(const struct late_rank *r, int first)
{
	(void)first;
	sleep_until_ns(now_ns() + r->ns);
}

FRAME static void save_checkpoint(const struct late_rank *r, int first)
{
	static char block[256 << 10];
	uint64_t begin = now_ns();
	char path[512];
	int fd;

	(void)first;
	snprintf(path, sizeof(path), "%s/victim-ranks-%d.tmp", r->dir, getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(path);
		return;
	}
	while (now_ns() - begin < r->ns && pwrite(fd, block, sizeof(block), 0) > 0 && !fsync(fd))
		;
	close(fd);
	unlink(path);
}

/* cpu: another program takes the rank's CPU for so long in each step: it is woken through a pipe, and has the
 * higher priority. */
static int wake[2];

static int open_wake(void)
{
	return pipe2(wake, O_CLOEXEC);
}

static void preempt(void)
{
	struct sched_param p = {.sched_priority = 2};
	uint64_t ns;

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		perror("victim-ranks: real-time scheduling");
	while (read(wake[0], &ns, sizeof(ns)) == sizeof(ns))
		work_ns(ns);
}

FRAME static void be_preempted(const struct late_rank *r, int first)
{
	(void)first;
	if (write(wake[1], &r->ns, sizeof(r->ns)) != sizeof(r->ns))
		perror("victim-ranks: wake the other program");
	work_ns(NS_PER_US); /* has the CPU again when the other program is done */
}

/* hog: another program wants the rank's CPU all the time. */
enum { HOGS = 4 };

static void *burn(void *arg)
{
	for (;;)
		work_ns(NS_PER_S);
	return arg;
}

static void compress_backup(void)
{
	pthread_t t;

	for (int i = 1; i < HOGS; i++)
		pthread_create(&t, NULL, burn, NULL);
	burn(NULL);
}

/* quota: a control group's, of half of the CPU time that the rank takes for a step, which must be 4 ms or more: the
 * kernel lets a group keep a millisecond. The rank uses its quota up, and waits for the next period. So steps fall
 * into step with periods: three of them are to be as long as a late step. */
enum { PERIODS = 3 };

static struct cgroup cg;

FRAME static void squeeze(const struct late_rank *r, int first)
{
	if (!first)
		return;
	if (cgroup_enter(&cg, "cpu")) {
		fprintf(stderr, "victim-ranks: no control group for a quota can be made: %s\n", strerror(errno));
		return;
	}
	cgroup_quota(&cg, (long)(r->host_ns / 2 / NS_PER_US), (long)((r->step_ns + r->ns) / PERIODS / NS_PER_US));
}

/* The kernel looks at the quota when it is asked for the thread's CPU time, and otherwise once a tick only. */
static void work_watched(uint64_t ns)
{
	const uint64_t piece = 100 * NS_PER_US;

	for (; ns > piece; ns -= piece) {
		work_ns(piece);
		thread_cpu_ns();
	}
	work_ns(ns);
}

static void leave_group(void)
{
	cgroup_leave(&cg);
}

/* lock: another thread takes the lock that each step takes, and keeps it for too long. */
static struct {
	pthread_mutex_t metrics;
	pthread_mutex_t lock; /* guards the others */
	pthread_cond_t changed;
	uint64_t hold_ns; /* 0: the other thread has nothing to do */
	int held;
} flush = {.metrics = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

FRAME static void flush_metrics(uint64_t ns)
{
	pthread_mutex_lock(&flush.metrics);
	pthread_mutex_lock(&flush.lock);
	flush.held = 1;
	pthread_cond_broadcast(&flush.changed);
	pthread_mutex_unlock(&flush.lock);
	sleep_until_ns(now_ns() + ns); /* as for a slow disk */
	pthread_mutex_unlock(&flush.metrics);
}

static void *flusher(void *arg)
{
	name_thread("metrics-flush");
	for (;;) {
		uint64_t ns;

		pthread_mutex_lock(&flush.lock);
		while (!flush.hold_ns)
			pthread_cond_wait(&flush.changed, &flush.lock);
		ns = flush.hold_ns;
		flush.hold_ns = 0;
		pthread_mutex_unlock(&flush.lock);
		flush_metrics(ns);
	}
	return arg;
}

static int start_flusher(void)
{
	pthread_t t;

	return pthread_create(&t, NULL, flusher, NULL) ? -1 : 0;
}

FRAME static void update_metrics(uint64_t late_ns)
{
	(void)late_ns;
	pthread_mutex_lock(&flush.metrics);
	pthread_mutex_unlock(&flush.metrics);
}

static void wait_until_held(const struct late_rank *r, int first)
{
	(void)first;
	pthread_mutex_lock(&flush.lock);
	flush.hold_ns = r->ns;
	flush.held = 0;
	pthread_cond_broadcast(&flush.changed);
	while (!flush.held)
		pthread_cond_wait(&flush.changed, &flush.lock);
	pthread_mutex_unlock(&flush.lock);
	update_metrics(0);
}

/* data: a worker process makes the batch that each step asks for. */
static int asks[2], batches[2];

FRAME static void load_batch(uint64_t late_ns)
{
	sleep_until_ns(now_ns() + late_ns); /* as for a store that is far away */
}

static void work_for_loader(pid_t rank)
{
	static char batch[4096];
	uint64_t ns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != rank)
		_exit(1);
	name_thread("data-worker");
	while (read(asks[0], &ns, sizeof(ns)) == sizeof(ns)) {
		if (ns)
			load_batch(ns);
		if (write(batches[1], batch, sizeof(batch)) != sizeof(batch))
			break;
	}
	_exit(0);
}

static int start_worker(void)
{
	pid_t rank = getpid(), pid;

	if (pipe2(asks, O_CLOEXEC) || pipe2(batches, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid)
		work_for_loader(rank);
	return pid < 0 ? -1 : 0;
}

FRAME static void next_batch(uint64_t late_ns)
{
	static char batch[4096];
	size_t got = 0;

	if (write(asks[1], &late_ns, sizeof(late_ns)) != sizeof(late_ns))
		return;
	while (got < sizeof(batch)) {
		ssize_t n = read(batches[0], batch + got, sizeof(batch) - got);

		if (n <= 0)
			return;
		got += (size_t)n;
	}
}

static void end_rank(const struct late_rank *r, int first)
{
	(void)r;
	(void)first;
	_exit(0);
}

static void hang(const struct late_rank *r, int first)
{
	(void)r;
	(void)first;
	for (;;)
		pause();
}

static const struct lateness all[] = {
	{.name = "sleep", .strike = sleep_late},
	{.name = "disk", .strike = save_checkpoint},
	{.name = "cpu", .pinned = 1, .before = open_wake, .beside = preempt, .strike = be_preempted},
	{.name = "hog", .pinned = 1, .ordinary = 1, .beside = compress_backup},
	{.name = "quota", .ordinary = 1, .strike = squeeze, .work = work_watched, .end = leave_group},
	{.name = "lock", .start = start_flusher, .step = update_metrics, .strike = wait_until_held},
	{.name = "gpu", .slow_gpu = 1},
	{.name = "data", .start = start_worker, .step = next_batch},
	{.name = "exit", .strike = end_rank},
	{.name = "hang", .strike = hang},
};

const struct lateness *find_lateness(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}
