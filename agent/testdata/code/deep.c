/* Makes CUDA calls with 400 KB of stack behind them, computing for 1.2 ms before each: 2,500 times. */
#include <string.h>
#include <time.h>

int cudaFree(void *);

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	volatile char used[400 << 10];

	memset((char *)used, 1, sizeof used);
	for (int i = 0; i < 2500; i++) {
		for (long long until = now() + 1200000; now() < until;)
			;
		cudaFree(0);
	}
	return used[0] - 1;
}
