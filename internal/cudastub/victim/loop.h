/* "victim loop": a training loop with one known fault in it, and the truth about it. */
#ifndef VICTIM_LOOP_H
#define VICTIM_LOOP_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

enum fault {
	FAULT_NONE,
	FAULT_CPU_HOG,
	FAULT_THROTTLE,
	FAULT_LOCK,
	FAULT_LOCK_IO,
	FAULT_OWN_IO,
	FAULT_GPU,
	FAULT_DRIVER_CPU,
	FAULT_COLD,
	FAULT_IDLE_SERVER,
	FAULT_COUNT,
};

enum { PIN_DEFAULT = -2, PIN_NONE = -1, MAX_DISPATCHERS = 64, MAX_CHILDREN = 8 };

enum { EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3 };

struct options {
	double seconds, start_after;
	long steps; /* 0: until seconds have passed */
	long seed, fault_ms, period_ms, launches, launch_us, memcpy_us, sync_us, host_us, pace_us;
	long warmup, duty, hogs, quota_us, cfs_period_us, dispatchers;
	int fault, pin, ping_pong, sleeper, nested, wait_stdin;
	const char *name, *thread, *culprit, *dir;
};

/* What the loop knows for sure and prints at the end. */
struct truth {
	int tid, culprit_pid, culprit_tid, holder_tid, client_pid;
	char comm[16], culprit_comm[16], holder_comm[16];
	long fault_count;
	int64_t injected_ns;
	uint64_t idle_ns;
	long involuntary, voluntary;
	uint64_t cpu_ns;
	char cgroup[300];
};

struct run {
	struct options o;
	uint64_t start_ns, fault_ns, end_ns;
	pthread_mutex_t metrics; /* taken once a step; what the lock faults hold */
	volatile sig_atomic_t stop;
	pid_t children[MAX_CHILDREN];
	int n_children;
	struct truth truth;
};

/* A running mean of one section's healthy duration. */
struct baseline {
	uint64_t sum_ns;
	long n;
};

/* One dispatching thread. The first is the one faults aim at. */
struct dispatcher {
	struct run *run;
	int primary, server_fd;
	pthread_t thread;
	uint64_t rng, next_fault_ns;
	int cold_done;
	long steps, launches, copies, syncs, loads;
	struct baseline step, launch, sync, lock;
	int64_t injected_ns;
	long fault_count;
};

int parse_options(struct options *o, int argc, char **argv);
const char *fault_name(int fault);
int run_loop(const struct options *o);

/* Is the moment for the next injection come (primary dispatcher, once a period)? */
int fault_due(struct dispatcher *d, uint64_t now);
int run_over(const struct run *r, const struct dispatcher *d);
void run_step(struct dispatcher *d);
int64_t over_baseline(const struct baseline *b, uint64_t took_ns, uint64_t nominal_ns);

/* children.c: processes that die with the victim and are reaped by it. */
pid_t start_child(struct run *r, const char *name, int cpu, void (*body)(struct run *, void *), void *arg);
void end_children(struct run *r);
void start_hog(struct run *r, int cpu);
void start_ping_pong(struct run *r, int cpu);
void start_client(struct run *r, int fd);

/* threads.c: sibling threads. */
int start_holder(struct run *r, pthread_t *thread);
int start_sleeper(struct run *r, pthread_t *thread);
void write_for(const char *dir, uint64_t ns); /* write and fsync a file until ns have passed */

/* throttle.c: a CPU cgroup of our own. */
int throttle_enter(struct run *r); /* 0, or -1 with a message on stderr */
void throttle_squeeze(struct run *r);
void throttle_leave(struct run *r);

/* truth.c */
void print_truth(const struct run *r, const struct dispatcher *d, int n, double seconds);

#endif
