/* What every program asks of the kernel: switches and system calls, with their cost in CPU time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "serve.h"

/* One side of a ping-pong: waits for a byte, sends one. */
struct player {
	int in, out, cpu, failed;
	long turns;
	uint64_t cpu_ns;
};

static void *play(void *arg)
{
	struct player *p = arg;
	uint64_t begin;
	char ball = 0;

	if (pin_to_cpu(p->cpu))
		p->failed = 1; /* and still play: the other side waits */
	begin = thread_cpu_ns();
	for (long i = 0; i < p->turns; i++)
		if (read(p->in, &ball, 1) != 1 || write(p->out, &ball, 1) != 1)
			p->failed = 1;
	p->cpu_ns = thread_cpu_ns() - begin;
	return NULL;
}

/* Serves the first ball and lets both play on threads of their own. */
static int play_match(struct player *a, struct player *b, int first_ball)
{
	pthread_t ta, tb;

	if (pthread_create(&ta, NULL, play, a))
		return -1;
	if (pthread_create(&tb, NULL, play, b))
		_exit(1); /* the first player would wait forever */
	if (write(first_ball, "", 1) != 1)
		_exit(1);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	return a->failed || b->failed ? -1 : 0;
}

void cmd_switches(const struct command *c)
{
	long n = c->n > 1 ? atol(c->words[1]) : 0;
	int cpu = (int)option_long(c, "cpu", sched_getcpu()), to_a[2], to_b[2], rc;
	struct player a, b;

	if (n < 2 || pipe(to_a)) {
		answer("err switches needs a number from 2");
		return;
	}
	if (pipe(to_b)) {
		close(to_a[0]);
		close(to_a[1]);
		answer("err cannot make a pipe");
		return;
	}
	a = (struct player){.in = to_a[0], .out = to_b[1], .cpu = cpu, .turns = n / 2};
	b = (struct player){.in = to_b[0], .out = to_a[1], .cpu = cpu, .turns = n / 2};
	rc = play_match(&a, &b, to_a[1]);
	for (int i = 0; i < 2; i++) {
		close(to_a[i]);
		close(to_b[i]);
	}
	if (rc)
		answer("err cannot switch on CPU %d", cpu);
	else
		answer("ok switches=%ld cpu_ns=%llu", n / 2 * 2, (unsigned long long)(a.cpu_ns + b.cpu_ns));
}

void cmd_getppid(const struct command *c)
{
	long n = c->n > 1 ? atol(c->words[1]) : 0;
	uint64_t begin = thread_cpu_ns();

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	answer("ok syscalls=%ld cpu_ns=%llu", n, (unsigned long long)(thread_cpu_ns() - begin));
}
