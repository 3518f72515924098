/* Commands that make a counted number of calls. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "serve.h"

enum { MAX_THREADS = 256, MAX_TIMED = 1000000 };

struct batch {
	const struct op *op;
	struct call_args args;
	long n, depth, errs;
	int last_rc;
	uint64_t *each; /* n durations, or NULL */
	uint64_t total_ns, cpu_ns;
	pthread_t thread;
};

/* noipa keeps the frames readable in stacks; the build turns off tail calls. */
__attribute__((noipa)) static void make_calls(struct batch *b)
{
	uint64_t begin = now_ns(), cpu = thread_cpu_ns();

	for (long i = 0; i < b->n; i++) {
		uint64_t t = b->each ? now_ns() : 0;

		b->last_rc = b->op->call(&b->args);
		b->errs += b->last_rc != 0;
		if (b->each)
			b->each[i] = now_ns() - t;
	}
	b->cpu_ns = thread_cpu_ns() - cpu;
	b->total_ns = now_ns() - begin;
}

__attribute__((noipa)) static void descend(struct batch *b, long depth)
{
	if (depth > 0)
		descend(b, depth - 1);
	else
		make_calls(b);
	__asm__ volatile("");
}

static void *call_thread(void *arg)
{
	struct batch *b = arg;

	name_thread("victim-caller");
	descend(b, b->depth);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Runs the batches, on fresh threads or, if threads is 0, here; returns the first that failed to start. */
static int run_batches(struct batch *b, long threads)
{
	int started = 0, rc = 0;

	if (!threads) {
		descend(b, b->depth);
		return 0;
	}
	for (long i = 0; i < threads && !rc; i++) {
		rc = pthread_create(&b[i].thread, NULL, call_thread, &b[i]);
		started += !rc;
	}
	for (int i = 0; i < started; i++)
		pthread_join(b[i].thread, NULL);
	return rc;
}

static void report(struct batch *b, long batches, uint64_t *each, long total)
{
	uint64_t ns = 0, cpu = 0, p50 = 0, p99 = 0, max = 0;
	long errs = 0;

	for (long i = 0; i < batches; i++) {
		ns += b[i].total_ns;
		cpu += b[i].cpu_ns;
		errs += b[i].errs;
	}
	if (each && total) {
		qsort(each, (size_t)total, sizeof(*each), by_value);
		p50 = each[total / 2];
		p99 = each[total * 99 / 100];
		max = each[total - 1];
	}
	answer("ok calls=%ld errs=%ld rc=%d ns=%llu cpu_ns=%llu p50_ns=%llu p99_ns=%llu max_ns=%llu", total,
	       errs, b->last_rc, (unsigned long long)ns, (unsigned long long)cpu, (unsigned long long)p50,
	       (unsigned long long)p99, (unsigned long long)max);
}

void cmd_call(const struct command *c)
{
	const struct op *op = command_op(c);
	long n = c->n > 2 ? atol(c->words[2]) : 1, threads = option_long(c, "threads", 0);
	long batches = threads ? threads : 1, total = n * batches;
	struct batch *b;
	uint64_t *each = NULL;

	if (!op)
		return;
	if (n < 0 || threads < 0 || threads > MAX_THREADS) {
		answer("err count or threads out of range");
		return;
	}
	b = calloc((size_t)batches, sizeof(*b));
	if (total > 0 && total <= MAX_TIMED && option_long(c, "timed", 1)) {
		each = malloc((size_t)total * sizeof(*each));
		memset(each, 0, (size_t)total * sizeof(*each)); /* no page faults between calls */
	}
	for (long i = 0; i < batches; i++)
		b[i] = (struct batch){.op = op, .args = parse_args(c), .n = n, .depth = option_long(c, "depth", 0),
				      .each = each ? each + i * n : NULL};
	if (run_batches(b, threads))
		answer("err cannot start the threads");
	else
		report(b, batches, each, total);
	free(each);
	free(b);
}

/* Paced calls. Above 5000 a second several calls share one wake-up. */
void cmd_rate(const struct command *c)
{
	const struct op *op = command_op(c);
	double per_s = c->n > 2 ? atof(c->words[2]) : 0, seconds = c->n > 3 ? atof(c->words[3]) : 0;
	struct call_args args = parse_args(c);
	uint64_t begin, end, late_max = 0;
	long made = 0, due_total;

	if (!op)
		return;
	if (per_s <= 0 || seconds <= 0) {
		answer("err rate needs OP PER_SECOND SECONDS");
		return;
	}
	due_total = (long)(per_s * seconds + 0.5);
	begin = now_ns();
	end = begin + (uint64_t)(seconds * 1e9) + 10 * NS_PER_MS; /* the last wake-up may be late */
	while (made < due_total) {
		uint64_t due = begin + (uint64_t)((double)made * 1e9 / per_s), t = now_ns();

		if (t >= end)
			break;
		if (t < due) {
			sleep_until_ns(due > t + 200 * NS_PER_US ? due : t + 200 * NS_PER_US);
			continue;
		}
		late_max = t - due > late_max ? t - due : late_max;
		op->call(&args);
		made++;
	}
	answer("ok calls=%ld behind=%ld late_max_ns=%llu", made, due_total - made, (unsigned long long)late_max);
}

/* A child process makes the calls and exits. */
void cmd_spawn(const struct command *c)
{
	const struct op *op = command_op(c);
	long n = c->n > 2 ? atol(c->words[2]) : 1;
	struct call_args args = parse_args(c);
	int status = 0;
	pid_t pid;

	if (!op)
		return;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, 9);
		for (long i = 0; i < n; i++)
			op->call(&args);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		answer("err child failed");
		return;
	}
	answer("ok child_pid=%d calls=%ld", pid, n);
}
