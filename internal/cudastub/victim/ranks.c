/* victim-ranks: N processes that train together, one of them late if asked for.
 *
 *   victim-ranks [--ranks N] [--steps N] [--host-us T] [--read-us T] [--gpu-us T] [--jitter PERCENT]
 *                [--late sleep|disk|cpu|hog|quota|lock|gpu|data|exit|hang] [--late-rank R] [--late-ms T]
 *                [--every K] [--late-from S] [--late-gate FILE] [--dir DIR] [--nccl FILE] [--load-late 1]
 *                [--nice N] [--fifo 1] [--exercise 1] [--wait-stdin 1] [--gate FILE]
 *
 * A step is host work, some launches, with --read-us a synchronisation that waits for the rank's
 * own GPU for so long, an ncclAllReduce and the synchronisation of its
 * stream, which really waits for the other processes. In every K-th step, from step S
 * on, or from the step on at which the file of --late-gate exists, the late rank is late (late.c) by
 * T; with hog it shares its CPU with another program all the time, and with exit and hang it
 * ends or stands still. The times of the own GPU vary evenly by up to the jitter. With fifo the ranks have
 * their CPUs before all ordinary programs, but for a late one that cannot. With a gate all do nothing
 * before that file exists. With 0 steps the job runs until it is told to end (SIGTERM); ranks that have not
 * ended 2 s later are killed. At the end the truth is printed: when each rank entered, by its own clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
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
#include "late.h"
#include "ranks.h"

#define FN(name, params, ...) int (*name) params;
#include "../stub/nccl.def"
#undef FN

enum { MAX_RANKS = 64, MAX_STEPS = 4096, STREAM = 0x5000, LAUNCHES = 4, GRACE_S = 2 };

struct job {
	_Atomic int ready, failed;
	ncclUniqueId id;
	_Atomic long last; /* after which step all end; -1: not yet known */
	uint64_t entered[MAX_STEPS][MAX_RANKS]; /* of the first steps */
	long reached[MAX_RANKS];                /* how many steps each has entered */
	long late_step;                         /* in which one was late first */
	uint64_t late_unix;                     /* when it was; 0: never */
};

static long ranks = 2, steps = 50, host_us = 300, gpu_us = 2000, late_rank = 1, late_ms = 20, every = 1, late_from, load_late,
	    exercises, wait_stdin, priority, fifo, read_us, jitter;
static const char *late_name, *dir = "/tmp", *nccl = "libnccl.so.2", *gate, *late_gate;
static const struct lateness punctual = {0}, *late = &punctual;
static volatile sig_atomic_t told_to_end;

static const struct {
	const char *name;
	long *number;
	const char **text;
} options[] = {
	{"--ranks", &ranks, 0}, {"--steps", &steps, 0}, {"--host-us", &host_us, 0}, {"--gpu-us", &gpu_us, 0},
	{"--late-rank", &late_rank, 0}, {"--late-ms", &late_ms, 0}, {"--every", &every, 0}, {"--late-from", &late_from, 0}, {"--load-late", &load_late, 0},
	{"--exercise", &exercises, 0}, {"--wait-stdin", &wait_stdin, 0}, {"--nice", &priority, 0}, {"--late", 0, &late_name}, {"--dir", 0, &dir},
	{"--nccl", 0, &nccl}, {"--gate", 0, &gate}, {"--fifo", &fifo, 0},
	{"--read-us", &read_us, 0}, {"--jitter", &jitter, 0}, {"--late-gate", 0, &late_gate},
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
	if (late_name && *late_name && !(late = find_lateness(late_name)))
		return -1;
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

/* Is the rank late in this step? Notes when it is first. */
static int late_in(struct job *j, int rank, long s, int *first)
{
	if (late == &punctual || rank != late_rank || s < late_from || s % every != every - 1)
		return 0;
	if (late_gate && !j->late_unix && access(late_gate, F_OK))
		return 0;
	if ((*first = !j->late_unix)) {
		j->late_step = s;
		j->late_unix = unix_ns();
	}
	return 1;
}

/* Waits for the rank's own GPU, as a program does that reads a value. */
__attribute__((noipa)) static void read_loss(int slow)
{
	static uint64_t state = 1;
	uint64_t ns = (uint64_t)read_us * NS_PER_US, spread = ns / 100 * (uint64_t)jitter;
	char spec[64];

	if (!read_us)
		return;
	if (state == 1)
		state = (uint64_t)getpid() * 0x9e3779b97f4a7c15ull;
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	if (spread)
		ns += state % (2 * spread + 1) - spread;
	if (slow)
		ns += (uint64_t)late_ms * NS_PER_MS;
	snprintf(spec, sizeof(spec), "cudaStreamSynchronize:sleep=%lluns", (unsigned long long)ns);
	cudastub_once(spec);
	cudaStreamSynchronize((void *)STREAM);
}

__attribute__((noipa)) static void compute(int is_late, int first, uint64_t step_ns)
{
	const dim3 grid = {64, 1, 1}, block = {256, 1, 1};
	struct late_rank r = {.dir = dir, .ns = (uint64_t)late_ms * NS_PER_MS,
			      .host_ns = (uint64_t)host_us * NS_PER_US, .step_ns = step_ns};

	if (late->step)
		late->step(is_late ? r.ns : 0);
	(late->work ? late->work : work_ns)(r.host_ns);
	for (int i = 0; i < LAUNCHES; i++)
		cudaLaunchKernel((void *)compute, grid, block, 0, 0, (void *)STREAM);
	read_loss(is_late && late->slow_gpu);
	if (is_late && late->strike)
		late->strike(&r, first);
}

/* Rank 0 says which step is the last, before it enters it, so that all know. */
static int is_last(struct job *j, int rank, long s)
{
	if (!rank && told_to_end && j->last < 0)
		j->last = s;
	return steps ? s == steps - 1 : 0;
}

static int train(struct job *j, int rank)
{
	void *gradients = (void *)0x7e0000001000;
	ncclComm_t comm;
	int err = cudaSetDevice(rank % 8) ? -1 : ncclCommInitRank(&comm, (int)ranks, j->id, rank);
	uint64_t began = now_ns();
	int64_t mean = 0; /* of the last steps, ns */

	for (long s = 0, last = 0; !last && !err; s++) {
		int first = 0, is_late = late_in(j, rank, s, &first);

		compute(is_late, first, (uint64_t)mean);
		last = is_last(j, rank, s);
		if (s < MAX_STEPS)
			j->entered[s][rank] = now_ns();
		j->reached[rank] = s + 1;
		err = ncclAllReduce(gradients, gradients, 1 << 20, NCCL_FLOAT, NCCL_SUM, comm, (void *)STREAM);
		cudaStreamSynchronize((void *)STREAM);
		last = last || (j->last >= 0 && s >= j->last);
		mean += ((int64_t)(now_ns() - began) - mean) / (s < 16 ? s + 1 : 16);
		began = now_ns();
	}
	if (late->end)
		late->end();
	return err ? err : ncclCommDestroy(comm);
}

/* With what shares its CPU, the late rank has the last one to itself. Real-time ranks go where there is room by
 * themselves: it would be ahead of others that share one. */
static void place(int rank)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (late->pinned && cpus > 1 && (rank == late_rank || late->ordinary))
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
	if (fifo && !(late->ordinary && rank == late_rank) && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}))
		perror("victim-ranks: real-time scheduling");
	else if (fifo && late->work) /* as far before other programs as it can be */
		setpriority(PRIO_PROCESS, 0, -20);
	place(rank);
	wait_at_gate();
	if (late->start && late->start())
		return 1;
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

static int run_beside(struct job *j, int rank)
{
	(void)j;
	(void)rank;
	name_thread("backup-agent");
	wait_at_gate();
	setpriority(PRIO_PROCESS, 0, (int)priority - 10); /* if permitted: ranks that wake do not preempt it at once */
	pin_to_cpu((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	late->beside();
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
static void print_truth(const struct job *j, const pid_t *pids, pid_t beside)
{
	long done = j->reached[0] < MAX_STEPS ? j->reached[0] : MAX_STEPS;
	int n = 0;

	printf("{\"pids\":[");
	for (long r = 0; r < ranks; r++) {
		printf("%s%d", r ? "," : "", pids[r]);
		if (j->reached[r] < done)
			done = j->reached[r];
	}
	printf("],\"steps\":%ld,\"late_rank\":%ld,\"hog_pid\":%d,\"late_unix_ns\":%llu,\"late_ns\":[", j->reached[0], late_rank,
	       beside > 0 ? beside : 0, (unsigned long long)j->late_unix);
	for (long s = j->late_step; j->late_unix && s < done; s += every) {
		uint64_t others = 0;

		for (long r = 0; r < ranks; r++)
			if (r != late_rank && j->entered[s][r] > others)
				others = j->entered[s][r];
		printf("%s%lld", n++ ? "," : "", (long long)(j->entered[s][late_rank] - others));
	}
	printf("],\"unique_id\":\"");
	for (size_t i = 0; i < sizeof(j->id); i++)
		printf("%02x", ((const unsigned char *)&j->id)[i]);
	printf("\"}\n");
}

static void kill_ranks(const pid_t *pids)
{
	for (long r = 0; r < ranks; r++)
		if (pids[r])
			kill(pids[r], SIGKILL);
}

/* Waits for all ranks; 0 if none failed. Once one fails, or they have been told to end and do not, all are killed. */
static int wait_for_ranks(pid_t *pids)
{
	int failed = 0, status, told = 0;

	for (long left = ranks; left;) {
		pid_t pid = waitpid(-1, &status, 0);
		int killed = told_to_end > 1;

		if (pid < 0 && told_to_end && !told++) {
			for (long r = 0; r < ranks; r++)
				if (pids[r])
					kill(pids[r], SIGTERM);
			alarm(GRACE_S);
		} else if (pid < 0 && killed)
			kill_ranks(pids);
		for (long r = 0; pid > 0 && r < ranks; r++)
			if (pids[r] == pid) {
				pids[r] = 0;
				left--;
				failed |= killed ? 0 : status;
				if (status)
					kill_ranks(pids); /* they would wait for the failed one */
			}
	}
	return failed;
}

static void on_end(int sig)
{
	told_to_end = sig == SIGALRM ? 2 : 1;
}

int main(int argc, char **argv)
{
	struct job *j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct sigaction sa = {.sa_handler = on_end};
	pid_t pids[MAX_RANKS], left[MAX_RANKS], beside = 0;
	char spec[64], ch;
	int failed;

	if (parse(argc, argv)) {
		fprintf(stderr, "victim-ranks: see the options in victim/ranks.c\n");
		return 2;
	}
	snprintf(spec, sizeof(spec), "cudaStreamSynchronize:sleep=%ldus", gpu_us);
	if (j == MAP_FAILED || cudastub_set(spec) || (!load_late && load_nccl()) || (late->before && late->before()))
		return 3;
	j->last = -1;
	name_thread("launcher");
	while (wait_stdin && read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n')
		;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	if (late->beside)
		beside = start(run_beside, j, 0);
	for (int r = 0; r < ranks; r++)
		pids[r] = left[r] = start(run_rank, j, r);
	failed = wait_for_ranks(left);
	if (beside > 0)
		kill(beside, SIGKILL);
	print_truth(j, pids, beside);
	return failed != 0;
}
