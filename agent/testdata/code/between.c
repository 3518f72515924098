/* Makes a CUDA call, computes, asks the kernel again and again, sleeps, and starts anew: 200 times. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cudaFree(void *);

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) void crunch_numbers(long long until)
{
	volatile double sum = 0;

	while (now() < until)
		for (int i = 0; i < 10000; i++)
			sum += i;
}

__attribute__((noinline)) void ask_the_kernel(long long until)
{
	while (now() < until)
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
}

__attribute__((noinline)) void sleep_a_while(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
	asm volatile("" ::: "memory"); /* it is no tail call */
}

int main(void)
{
	for (int i = 0; i < 200; i++) {
		cudaFree(0);
		crunch_numbers(now() + 6000000);
		ask_the_kernel(now() + 6000000);
		sleep_a_while(3000000);
	}
	return 0;
}
