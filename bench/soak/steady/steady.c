/* The steady program: the same calls at a constant pace, counted by itself, until its standard input ends. Nothing
 * else may end it. For each second of the machine's clock it prints
 *
 *   second UNIX STEPS CALLS EXCESS_NS
 *
 * EXCESS_NS is what its steps took beyond the fastest one, and by how much they began too late: all that was lost. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { LAUNCHES = 20, NS_PER_MS = 1000000, PACE_MS = 50 };

struct dim {
	unsigned x, y, z;
};

int cudaLaunchKernel(const void *func, struct dim grid, struct dim block, void **args, size_t shared,
		     void *stream);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaStreamSynchronize(void *stream);

static long unix_second;
static long steps, calls;
static uint64_t excess;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 * NS_PER_MS + (uint64_t)t.tv_nsec;
}

static void count_call(void)
{
	long s = (long)(now(CLOCK_REALTIME) / (1000ull * NS_PER_MS));

	if (s != unix_second) {
		if (unix_second)
			printf("second %ld %ld %ld %llu\n", unix_second, steps, calls, (unsigned long long)excess);
		fflush(stdout);
		unix_second = s;
		steps = calls = 0;
		excess = 0;
	}
	calls++;
}

static void step(void)
{
	struct dim one = {1, 1, 1};

	for (int i = 0; i < LAUNCHES; i++) {
		count_call();
		cudaLaunchKernel((void *)step, one, one, NULL, 0, NULL);
	}
	count_call();
	cudaMemcpyAsync(NULL, NULL, 4096, 1, NULL);
	count_call();
	cudaStreamSynchronize(NULL);
}

static int stopped(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	return poll(&in, 1, 0) > 0;
}

int main(void)
{
	uint64_t planned = now(CLOCK_MONOTONIC), end = planned, fastest = UINT64_MAX;

	while (!stopped()) {
		uint64_t due = planned > end ? planned : end, begin, took;
		struct timespec at = {(time_t)(planned / (1000ull * NS_PER_MS)), (long)(planned % (1000ull * NS_PER_MS))};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		begin = now(CLOCK_MONOTONIC);
		step();
		end = now(CLOCK_MONOTONIC);
		took = end - begin;
		if (took < fastest)
			fastest = took;
		excess += took - fastest + (begin > due ? begin - due : 0);
		steps++;
		planned += (uint64_t)PACE_MS * NS_PER_MS;
	}
	printf("second %ld %ld %ld %llu\n", unix_second, steps, calls, (unsigned long long)excess);
	return 0;
}
