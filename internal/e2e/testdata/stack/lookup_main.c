/* Looks kernels up: a line of input says how. */
#include <stdio.h>
#include <string.h>

int __cudaGetKernel(void **kernel, const void *function), cudaGetKernel(void **kernel, const void *function);
static void *kernel;
static volatile int failed;

__attribute__((noinline)) static void look(const char *how)
{
	if (!strncmp(how, "one", 3))
		failed += __cudaGetKernel(&kernel, look);
	else if (!strncmp(how, "two", 3))
		failed += cudaGetKernel(&kernel, look);
	else
		failed += cudaGetKernel(&kernel, 0);
}

int main(void)
{
	char line[64];
	while (fgets(line, sizeof line, stdin)) {
		look(line);
		puts("done");
		fflush(stdout);
	}
	return failed;
}
