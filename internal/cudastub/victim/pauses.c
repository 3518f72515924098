/* "victim-late pauses": for how long each processor stood still, until stdin ends. A hypervisor or
 * an emulator that stops a processor without a word (no stolen time in /proc/stat) makes the thread
 * that ran there look as if it had computed on. A thread that comes before all others notices: it
 * wakes up late. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "pauses.h"

enum {
	MAX_CPUS = 256, /* further ones are not watched */
	PRIORITY = 50, /* of SCHED_FIFO, whose threads come before all ordinary ones */
};
#define NAP_NS (5 * NS_PER_MS)
#define LATE_NS NS_PER_MS /* what is less late is the machine's own */

static struct watch {
	pthread_t thread;
	int cpu;
	uint64_t still_ns;
} watches[MAX_CPUS];

static volatile int ended;

static void *watch(void *arg)
{
	struct watch *w = arg;
	struct timespec nap = {.tv_nsec = NAP_NS};

	while (!ended) {
		uint64_t due = now_ns() + NAP_NS;

		nanosleep(&nap, NULL);
		if (now_ns() > due + LATE_NS)
			w->still_ns += now_ns() - due;
	}
	return NULL;
}

/* Returns an error number: of a thread without the right to SCHED_FIFO, for one. */
static int start(struct watch *w)
{
	struct sched_param priority = {.sched_priority = PRIORITY};
	pthread_attr_t a;
	cpu_set_t cpu;
	int err;

	CPU_ZERO(&cpu);
	CPU_SET(w->cpu, &cpu);
	pthread_attr_init(&a);
	pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&a, SCHED_FIFO);
	pthread_attr_setschedparam(&a, &priority);
	pthread_attr_setaffinity_np(&a, sizeof cpu, &cpu);
	err = pthread_create(&w->thread, &a, watch, w);
	pthread_attr_destroy(&a);
	return err;
}

int pauses(void)
{
	uint64_t began = now_ns(), longest = 0;
	cpu_set_t cpus;
	int n = 0;

	if (sched_getaffinity(0, sizeof cpus, &cpus)) {
		perror("sched_getaffinity");
		return 1;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && n < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		watches[n].cpu = cpu;
		int err = start(&watches[n]);
		if (err) {
			fprintf(stderr, "a thread of the first priority on CPU %d: %s\n", cpu, strerror(err));
			return 1;
		}
		n++;
	}
	while (getchar() != EOF)
		;
	ended = 1;
	for (int i = 0; i < n; i++) {
		pthread_join(watches[i].thread, NULL);
		if (watches[i].still_ns > longest)
			longest = watches[i].still_ns;
	}
	printf("%.6f\n", (double)longest / (double)(now_ns() - began));
	return 0;
}
