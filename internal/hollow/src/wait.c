/* Waiting for the GPU, by spinning, yielding or sleeping, as cudaDeviceSchedule* chooses. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

enum { SCHED_AUTO = 0, SCHED_SPIN = 1, SCHED_YIELD = 2, SCHED_BLOCK = 4, SCHED_MASK = 7 };

__thread bool wait_by_sleeping;

/* A thread that sleeps until a time is known. */
struct sleeper {
	struct sleeper *next;
	struct stamp *until;
	int timer; /* what it polls */
};

static struct sleeper *sleepers; /* L */
static int interrupts = -1; /* stands for the driver's device file, which a blocking wait polls */

int streams_of(int device, struct stamp **out, int room);

/* Wakes threads through timers: as with a GPU, an interrupt ends the wait, not another thread. */
void wake_waiting(void)
{
	static const struct itimerspec now = {.it_value.tv_nsec = 1};
	for (struct sleeper *s = sleepers; s; s = s->next)
		if (s->until->known)
			timerfd_settime(s->timer, 0, &now, NULL);
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

/* Called with the lock held; releases it while it sleeps. */
static void sleep_until_known(struct stamp *t)
{
	struct sleeper own = {sleepers, t, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
	if (own.timer < 0)
		abort();
	sleepers = &own;
	while (!t->known) {
		struct pollfd p = {.fd = own.timer, .events = POLLIN};
		pthread_mutex_unlock(&engine);
		ppoll(&p, 1, NULL, NULL);
		pthread_mutex_lock(&engine);
	}
	struct sleeper **at = &sleepers;
	while (*at != &own)
		at = &(*at)->next;
	*at = own.next;
	close(own.timer);
}

/* Waits for a time that may not be known yet, and drops the stamp. */
void wait_stamp(struct stamp *t)
{
	pthread_mutex_lock(&engine);
	while (!t->known) {
		if (mode() == SCHED_BLOCK) {
			sleep_until_known(t);
			break;
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
