/* What makes a rank of victim-ranks late. */
#ifndef VICTIM_LATE_H
#define VICTIM_LATE_H

#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

/* A rank, as a lateness sees it. */
struct late_rank {
	const char *dir;
	uint64_t ns;      /* by how much it is late in a step */
	uint64_t host_ns; /* CPU time of its own in a step */
	uint64_t step_ns; /* how long a step takes; 0: not known */
};

/* All functions may be NULL. */
struct lateness {
	const char *name;
	int pinned;   /* the late rank has a CPU for itself and for what shares it */
	int slow_gpu; /* the GPU needs so much longer for its own work, for which the rank waits (--read-us) */
	int ordinary; /* it cannot be a real-time thread */
	int (*before)(void);                                 /* in the launcher, before there are ranks; 0 or -1 */
	void (*beside)(void);                                /* another process */
	int (*start)(void);                                  /* in each rank; 0 or -1 */
	void (*step)(uint64_t late_ns);                      /* in each step of each rank; 0: it is in time */
	void (*strike)(const struct late_rank *r, int first); /* in each step of the late rank that is late */
	void (*work)(uint64_t ns);                           /* instead of plain CPU work */
	void (*end)(void);                                   /* in each rank */
};

const struct lateness *find_lateness(const char *name); /* NULL: there is none */

#endif
