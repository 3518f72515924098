/* "victim loop": a training loop with one or two known faults in it, and the truth about them. */
#ifndef VICTIM_LOOP_H
#define VICTIM_LOOP_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"
#include "clock.h"

/* The function names are what a stack shows, so they are those of a training
 * program; noipa keeps each one a frame. */
#define FRAME __attribute__((noipa))

enum { PIN_DEFAULT = -2, PIN_NONE = -1, MAX_DISPATCHERS = 64, MAX_CHILDREN = 8, MAX_WORKERS = 4, MAX_INJECTIONS = 2 };

enum { EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3 };

struct fault;
struct phase;

struct options {
	double seconds, start_after;
	double phase_at, phase_for, phase_every;
	const struct phase *phase;
	long steps; /* 0: until seconds have passed */
	long seed, fault_ms, period_ms, launches, launch_us, memcpy_us, syncs, sync_us, host_us, pace_us;
	long cpus; /* that the program may use; 0: all */
	long min_steps, validate, warmup, duty, hogs, quota_us, cfs_period_us, dispatchers, jitter, nice, rt;
	int pin, ping_pong, sleeper, nested, wait_stdin;
	const struct fault *fault, *also; /* also: a second one, or NULL */
	const char *name, *thread, *culprit, *dir, *server;
};

/* The last healthy durations of one section. */
enum { BASELINE = 1024 };
struct baseline {
	uint64_t took_ns[BASELINE];
	long n;              /* so many were seen */
	uint64_t healthy_ns; /* of the first known of them */
	long known;
};

struct who {
	int pid, tid;
	char comm[16];
};

/* A fault at work in this run. */
struct injection {
	const struct fault *fault;
	struct run *run;
	uint64_t rng, next_ns;    /* of the thread or process that decides when and how long */
	struct baseline healthy;  /* of the section it hits */
	int64_t injected_ns;      /* lost in that section */
	long count;
	uint64_t first_ns;        /* since 1970, when it struck first; 0: as soon as faults began */
	const char *name;         /* what its culprit is called */
	int prepared;
	struct who culprit, holder, peer; /* peer: who stands between culprit and dispatcher */
	pid_t crowd[MAX_WORKERS]; /* all processes that are to blame, if they are several; culprit is one */
	int n_crowd;
};

/* What the loop knows for sure and prints at the end. */
struct truth {
	int tid, client_pid;
	char comm[16];
	uint64_t idle_ns, leaked_bytes;
	long involuntary, voluntary, major_faults;
	char cgroup[300];
};

struct run {
	struct options o;
	uint64_t start_ns, fault_ns, end_ns;
	uint64_t began_ns; /* start_ns since 1970 */
	uint64_t main_ns;  /* when the program began, before what it prepares; since 1970 */
	pthread_mutex_t metrics; /* taken once a step; what the lock faults hold */
	volatile sig_atomic_t stop;
	pid_t children[MAX_CHILDREN];
	int n_children, n_injections;
	int driver_launches; /* launches reach the driver's function */
	struct injection in[MAX_INJECTIONS];
	struct truth truth;
};

/* Calls that are counted, in the order of call_names (truth.c). */
enum call {
	CALL_LAUNCH, CALL_COPY_ASYNC, CALL_SYNC, CALL_MODULE, CALL_MALLOC, CALL_FREE, CALL_COPY, CALL_BEGIN_CAPTURE,
	CALL_END_CAPTURE, CALL_INSTANTIATE, CALL_GRAPH_LAUNCH, CALL_GRAPH_DESTROY, CALL_EXEC_DESTROY, CALLS,
};

/* How often a function was called, and how long the calls took: inside, by the stand-in's clock (0 for a call
 * without a behaviour), and around, by the caller's clock. What a tracer measures must be between the two. */
enum { PART_BITS = 5, SPANS = 60 << PART_BITS }; /* 32 buckets for each power of two */

struct spans {
	uint64_t total_ns, max_ns;
	uint32_t n[SPANS];
};

struct made {
	long n, errors;
	uint64_t bytes;
	struct spans inside, around;
};

/* One dispatching thread. The first is the one faults aim at. */
struct dispatcher {
	struct run *run;
	int primary, server_fd; /* server_fd: where requests come from, -1 without a server */
	pthread_t thread;
	uint64_t rng;
	long steps, phase_steps; /* phase_steps: of these, those of a phase */
	struct made *made; /* by enum call */
	int tid;
	uint64_t cpu_ns, runnable_ns; /* CPU time, and time without a CPU though it was runnable */
	struct baseline step, launch, sync;
};

/* What a fault needs for itself alone; two faults of one run cannot need the same part. */
enum part {
	PART_CPU = 1, PART_CGROUP = 2, PART_METRICS = 4, PART_LAUNCH = 8, PART_SYNC = 16, PART_SERVER = 32,
	PART_FILE = 64, PART_PEER = 128, PART_LOADER = 256,
};

/* A fault is a value; all_faults (faults.c) is the list. Every function may be
 * NULL. Those marked "0 or -1" return 0, or -1 after a sentence on stderr that
 * says why this machine cannot produce the fault. */
struct fault {
	const char *name, *culprit; /* culprit: what it is called unless --culprit says otherwise */
	unsigned parts;
	int self;                                  /* the dispatching thread is its own culprit */
	int (*setup)(struct injection *);          /* what takes time, before the clock starts; 0 or -1 */
	int (*prepare)(struct injection *, struct dispatcher *); /* processes, before any thread; 0 or -1 */
	int (*start)(struct injection *);          /* sibling threads; 0 or -1 */
	void (*host)(struct injection *, struct dispatcher *);   /* each step, before its calls */
	int (*before_launch)(struct injection *, struct dispatcher *); /* 1: this launch will be slow */
	int (*work)(struct injection *, struct dispatcher *);    /* 1: it did the step's launches instead */
	int (*before_sync)(struct injection *, struct dispatcher *);   /* 1: this sync will be slow */
	void (*end)(struct injection *);           /* after the dispatchers; joins and removes */
};

int parse_options(struct options *o, int argc, char **argv);
int run_loop(const struct options *o);
int run_over(const struct run *r, const struct dispatcher *d);
void sleep_unless_stopped(const struct run *r, uint64_t until_ns);

/* faults.c */
const struct fault *find_fault(const char *name);
int injection_due(struct injection *in, uint64_t now); /* is it time for the next one? */
void injection_next(struct injection *in);             /* sets next_ns, a period on */
uint64_t injection_ns(struct injection *in);           /* how long the next one is to take */
int faulty(const struct injection *in);                /* is it late enough for faults (--start-after)? */
void inject(struct injection *in, int64_t lost_ns);
void strike(struct injection *in); /* counts, and keeps the time of the first */
int64_t over_baseline(struct baseline *b, uint64_t took_ns, uint64_t nominal_ns);
void learn(const struct dispatcher *d, struct baseline *b, uint64_t took_ns);
struct injection *injection_of(struct run *r, unsigned part); /* NULL if none takes it */
struct who this_thread(void);
struct who a_process(int pid, const char *comm);
int enter_cgroup(struct cgroup *g, struct run *r, const char *controller); /* 0 or -1, with a sentence */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns -1, and prints a sentence */
uint64_t next_random(uint64_t *state);

/* phases.c: what a healthy program does other than its usual steps. */
struct phase {
	const char *name;
	void (*step)(struct dispatcher *d);
	int counts; /* as a step */
};

const struct phase *find_phase(const char *name);
int phase_step(struct dispatcher *d); /* a step of the phase that holds; 0: none does */

/* step.c */
void run_step(struct dispatcher *d);
void train_step(struct dispatcher *d); /* one step, and what the faults do in it */
void launch(struct dispatcher *d, long n);
int slow_next(const char *function, const char *how, uint64_t ns); /* this thread's next call of function */

/* children.c: processes that die with the victim and are reaped by it. */
pid_t start_child(struct run *r, const char *name, int cpu, void (*body)(struct run *, void *), void *arg);
void end_children(struct run *r);
void start_ping_pong(struct run *r, int cpu);

/* hog.c */
int start_hog(struct injection *in, int cpu);
int pin_dispatcher(struct run *r); /* on which CPU the first dispatcher runs from now on */
int keep_to_cpus(long n);          /* the program uses so many of its CPUs; 0 or -1, with a sentence */
int cpu_apart(struct run *r);      /* another one, for its helpers; PIN_NONE if there is none */
void keep_apart(struct run *r);    /* keeps this thread on that one; the dispatcher must be pinned by then */

/* threads.c: sibling threads. */
int start_sleeper(struct run *r, pthread_t *thread);
void write_for(const char *dir, uint64_t ns); /* write and fsync a file until ns have passed */

/* coldfile.c: a file whose pages are not in memory. */
int cold_file(struct injection *in);
void read_cold(struct injection *in, uint64_t ns);

/* made.c */
uint64_t make(void); /* now */
void made(struct made *m, uint64_t begin_ns, uint64_t bytes, int rc);
void add_made(struct made *to, const struct made *m);
void print_made(const char *name, const struct made *m);

/* A call, timed and counted; its value is what the function returned. */
#define CALLED(d, call, bytes, expr)                                    \
	__extension__({                                                 \
		uint64_t begin_ = make();                               \
		int rc_ = (expr);                                       \
		made(&(d)->made[call], begin_, bytes, rc_);             \
		rc_;                                                    \
	})

/* truth.c */
void print_truth(const struct run *r, const struct dispatcher *d, int n, double seconds);

#endif
