/*
 * Makes CUDA calls, and forks a worker while another thread has a lock. The worker needs that lock for its answer, so
 * that both wait for ever. With a second argument it polls for the answer again and again. It ends after as many seconds
 * as its first argument says.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int cudaFree(void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int answer[2], held[2], polls;

static void *hold(void *unused)
{
	pthread_mutex_lock(&lock);
	if (write(held[1], "h", 1) != 1)
		_exit(2);
	for (;;)
		pause();
	return unused;
}

__attribute__((noinline)) void work_for_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_lock(&lock);
	if (write(answer[1], "a", 1) != 1)
		_exit(2);
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) int wait_for_answer(void)
{
	char c;
	int n;

	while (polls && poll(&(struct pollfd){answer[0], POLLIN}, 1, 700) == 0)
		;
	n = read(answer[0], &c, 1);

	asm volatile("" ::: "memory");
	return n;
}

int main(int argc, char **argv)
{
	pthread_t t;
	char c;

	polls = argc > 2;
	alarm(argc > 1 ? atoi(argv[1]) : 10);
	for (int i = 0; i < 100; i++) {
		cudaFree(0);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	if (pipe(answer) || pipe(held) || pthread_create(&t, NULL, hold, NULL) || read(held[0], &c, 1) != 1)
		return 1;
	if (fork() == 0) {
		work_for_parent();
		_exit(0);
	}
	return wait_for_answer() != 1;
}
