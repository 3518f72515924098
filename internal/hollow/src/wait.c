/* Waiting for the GPU, by spinning, yielding or sleeping, as cudaDeviceSchedule* chooses. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

enum { SCHED_AUTO = 0, SCHED_SPIN = 1, SCHED_YIELD = 2, SCHED_BLOCK = 4, SCHED_MASK = 7 };

__thread bool wait_by_sleeping;

static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int interrupts = -1; /* stands for the driver's device file, which a blocking wait polls */

int streams_of(int device, struct stamp **out, int room);

void wake_waiting(void)
{
	pthread_cond_broadcast(&news);
}

static unsigned mode(void)
{
	return wait_by_sleeping ? SCHED_BLOCK : devices[thread_device].flags & SCHED_MASK;
}

static void sleep_until(uint64_t when)
{
	int fd = __atomic_load_n(&interrupts, __ATOMIC_ACQUIRE), none = -1;
	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC);
		if (!__atomic_compare_exchange_n(&interrupts, &none, fd, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			close(fd);
			fd = none;
		}
	}
	for (uint64_t now; (now = hollow_now()) < when;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct timespec t = {.tv_sec = (time_t)((when - now) / 1000000000u),
				     .tv_nsec = (long)((when - now) % 1000000000u)};
		ppoll(&p, 1, &t, NULL);
	}
}

void wait_until(uint64_t when)
{
	switch (mode()) {
	case SCHED_BLOCK:
		sleep_until(when);
		return;
	case SCHED_YIELD:
		while (hollow_now() < when)
			sched_yield();
		return;
	}
	while (hollow_now() < when)
		RELAX();
}

/* Waits for a moment that may not be known yet, and drops it. */
void wait_stamp(struct stamp *t)
{
	pthread_mutex_lock(&engine);
	while (!t->known) {
		if (mode() == SCHED_BLOCK) {
			pthread_cond_wait(&news, &engine);
			continue;
		}
		pthread_mutex_unlock(&engine);
		if (mode() == SCHED_YIELD)
			sched_yield();
		for (int i = 0; i < 100; i++)
			RELAX();
		pthread_mutex_lock(&engine);
	}
	uint64_t when = t->when;
	stamp_drop(t);
	pthread_mutex_unlock(&engine);
	wait_until(when);
}

void wait_stream(struct stream *s)
{
	pthread_mutex_lock(&engine);
	struct stamp *t = stamp_take(s);
	pthread_mutex_unlock(&engine);
	wait_stamp(t);
}

void wait_device(int device)
{
	enum { MOST = 512 };
	struct stamp *t[MOST];
	int n = streams_of(device, t, MOST);
	for (int i = 0; i < n; i++)
		wait_stamp(t[i]);
}
