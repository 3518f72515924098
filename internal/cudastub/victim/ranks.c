/* victim-ranks: N processes that train together, one of them late if asked for.
 *
 *   victim-ranks [--ranks N] [--steps N] [--host-us T] [--gpu-us T] [--late sleep|disk|hog]
 *                [--late-rank R] [--late-ms T] [--every K] [--late-from S] [--dir DIR] [--nccl FILE] [--load-late 1]
 *                [--nice N] [--fifo 1] [--exercise 1] [--wait-stdin 1] [--gate FILE]
 *
 * A step is host work, some launches, an ncclAllReduce and the synchronisation of its
 * stream, which really waits for the other processes. Before every K-th step, from step S
 * on, the late rank sleeps, writes to a disk or, with hog, shares its CPU with another program all
 * the time. With fifo the ranks, but for one with a hog, have their CPUs before all
 * ordinary programs. With a gate all do nothing before that file exists. At the end the
 * truth is printed: when each rank entered, by its own clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ranks.h"

#define FN(name, params, ...) int (*name) params;
#include "../stub/nccl.def"
#undef FN

enum { MAX_RANKS = 64, MAX_STEPS = 4096, STREAM = 0x5000, HOGS = 4, LAUNCHES = 4 };

struct job {
	_Atomic int ready, failed;
	ncclUniqueId id;
	uint64_t entered[MAX_STEPS][MAX_RANKS];
	uint64_t late_unix; /* when it was late first */
};

static long ranks = 2, steps = 50, host_us = 300, gpu_us = 2000, late_rank = 1, late_ms = 20, every = 1, late_from, load_late,
	    exercises, wait_stdin, priority, fifo;
static const char *late = "", *dir = "/tmp", *nccl = "libnccl.so.2", *gate;

static const struct {
	const char *name;
	long *number;
	const char **text;
} options[] = {
	{"--ranks", &ranks, 0}, {"--steps", &steps, 0}, {"--host-us", &host_us, 0}, {"--gpu-us", &gpu_us, 0},
	{"--late-rank", &late_rank, 0}, {"--late-ms", &late_ms, 0}, {"--every", &every, 0}, {"--late-from", &late_from, 0}, {"--load-late", &load_late, 0},
	{"--exercise", &exercises, 0}, {"--wait-stdin", &wait_stdin, 0}, {"--nice", &priority, 0}, {"--late", 0, &late}, {"--dir", 0, &dir},
	{"--nccl", 0, &nccl}, {"--gate", 0, &gate}, {"--fifo", &fifo, 0},
};

static int parse(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		size_t n = 0, all = sizeof(options) / sizeof(options[0]);

		while (n < all && strcmp(options[n].name, argv[i]))
			n++;
		if (n == all)
			return -1;
		if (options[n].text)
			*options[n].text = argv[i + 1];
		else
			*options[n].number = strtol(argv[i + 1], NULL, 10);
	}
	return argc % 2 && ranks > 0 && ranks <= MAX_RANKS && steps <= MAX_STEPS && every > 0 && late_rank < ranks ? 0 : -1;
}

static int load_nccl(void)
{
	void *lib = dlopen(nccl, RTLD_NOW | RTLD_GLOBAL);

	if (!lib) {
		fprintf(stderr, "victim-ranks: %s\n", dlerror());
		return -1;
	}
	int missing = 0;
#define FN(name, ...) missing |= !(*(void **)&name = dlsym(lib, #name));
#include "../stub/nccl.def"
#undef FN
	return missing ? -1 : 0;
}

__attribute__((noipa)) static void save_checkpoint(uint64_t ns)
{
	static char block[256 << 10];
	uint64_t begin = now_ns();
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/victim-ranks-%d.tmp", dir, getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(path);
		return;
	}
	while (now_ns() - begin < ns && pwrite(fd, block, sizeof(block), 0) > 0 && !fsync(fd))
		;
	close(fd);
	unlink(path);
}

__attribute__((noipa)) static void be_late(void)
{
	uint64_t ns = (uint64_t)late_ms * NS_PER_MS;

	if (!strcmp(late, "sleep"))
		sleep_until_ns(now_ns() + ns);
	if (!strcmp(late, "disk"))
		save_checkpoint(ns);
}

__attribute__((noipa)) static int train(struct job *j, int rank)
{
	const dim3 grid = {64, 1, 1}, block = {256, 1, 1};
	void *gradients = (void *)0x7e0000001000;
	ncclComm_t comm;
	int err = cudaSetDevice(rank % 8) ? -1 : ncclCommInitRank(&comm, (int)ranks, j->id, rank);

	for (long s = 0; s < steps && !err; s++) {
		work_ns((uint64_t)host_us * NS_PER_US);
		for (int i = 0; i < LAUNCHES; i++)
			cudaLaunchKernel((void *)train, grid, block, 0, 0, (void *)STREAM);
		if (rank == late_rank && s >= late_from && s % every == every - 1) {
			if (!j->late_unix)
				j->late_unix = unix_ns();
			be_late();
		}
		j->entered[s][rank] = now_ns();
		err = ncclAllReduce(gradients, gradients, 1 << 20, NCCL_FLOAT, NCCL_SUM, comm, (void *)STREAM);
		cudaStreamSynchronize((void *)STREAM);
	}
	return err ? err : ncclCommDestroy(comm);
}

static int hogged(void) { return !strcmp(late, "hog"); }

/* With a hog the late rank and the hog have the last CPU to themselves. */
static void place(int rank)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (hogged() && cpus > 1)
		pin_to_cpu(rank == late_rank ? cpus - 1 : rank % (cpus - 1));
}

static void wait_at_gate(void)
{
	while (gate && access(gate, F_OK))
		sleep_until_ns(now_ns() + 10 * NS_PER_MS);
}

static int run_rank(struct job *j, int rank)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "rank-%d", rank);
	name_thread(name);
	if (priority)
		setpriority(PRIO_PROCESS, 0, (int)priority);
	if (fifo && !(hogged() && rank == late_rank) && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}))
		perror("victim-ranks: real-time scheduling");
	place(rank);
	wait_at_gate();
	if (load_late && load_nccl())
		return 1;
	sleep_until_ns(now_ns() + 200 * NS_PER_MS); /* as if a framework started up first */
	if (!rank) {
		ncclGetUniqueId(&j->id);
		j->ready = 1;
	}
	while (!j->ready)
		sleep_until_ns(now_ns() + NS_PER_MS);
	err = exercises ? exercise(&j->id, rank) : train(j, rank);
	if (err)
		fprintf(stderr, "victim-ranks: rank %d: error %d\n", rank, err);
	return err != 0;
}

static void *burn(void *arg)
{
	for (;;)
		work_ns(NS_PER_S);
	return arg;
}

static int run_hog(struct job *j, int rank)
{
	pthread_t t;

	(void)j;
	(void)rank;
	name_thread("backup-agent");
	wait_at_gate();
	setpriority(PRIO_PROCESS, 0, (int)priority - 10); /* if permitted: ranks that wake do not preempt it at once */
	pin_to_cpu((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (int i = 1; i < HOGS; i++)
		pthread_create(&t, NULL, burn, NULL);
	burn(NULL);
	return 0;
}

static pid_t start(int (*run)(struct job *, int), struct job *j, int rank)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(run(j, rank));
}

/* By how much the late rank entered after the last other one, at each step it was meant to be late. */
static void print_truth(const struct job *j, const pid_t *pids, pid_t hog)
{
	int first = 1;

	printf("{\"pids\":[");
	for (long r = 0; r < ranks; r++)
		printf("%s%d", r ? "," : "", pids[r]);
	printf("],\"steps\":%ld,\"late_rank\":%ld,\"hog_pid\":%d,\"late_unix_ns\":%llu,\"late_ns\":[", steps, late_rank,
	       hog > 0 ? hog : 0, (unsigned long long)j->late_unix);
	for (long s = late_from / every * every + every - 1; *late && s < steps; s += every) {
		uint64_t others = 0;

		for (long r = 0; r < ranks; r++)
			if (r != late_rank && j->entered[s][r] > others)
				others = j->entered[s][r];
		printf("%s%lld", first ? "" : ",", (long long)(j->entered[s][late_rank] - others));
		first = 0;
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct job *j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MAX_RANKS], hog = 0;
	char spec[64], ch;
	int failed = 0, status;

	if (parse(argc, argv)) {
		fprintf(stderr, "victim-ranks: see the options in victim/ranks.c\n");
		return 2;
	}
	snprintf(spec, sizeof(spec), "cudaStreamSynchronize:sleep=%ldus", gpu_us);
	if (j == MAP_FAILED || cudastub_set(spec) || (!load_late && load_nccl()))
		return 3;
	name_thread("launcher");
	while (wait_stdin && read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n')
		;
	if (hogged())
		hog = start(run_hog, j, 0);
	for (int r = 0; r < ranks; r++)
		pids[r] = start(run_rank, j, r);
	for (long left = ranks; left; left--) {
		while (waitpid(-1, &status, 0) == hog)
			;
		failed |= status;
		for (int r = 0; status && r < ranks; r++)
			kill(pids[r], SIGKILL); /* they would wait for the failed one */
	}
	if (hog > 0)
		kill(hog, SIGKILL);
	print_truth(j, pids, hog);
	return failed != 0;
}
