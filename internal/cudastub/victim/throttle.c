/* throttle: a CPU quota that is set when the fault begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

static struct cgroup cg;
static int squeezed;

static int enter(struct injection *in, struct dispatcher *d)
{
	(void)d;
	return enter_cgroup(&cg, in->run, "cpu");
}

static void squeeze(struct injection *in, struct dispatcher *d)
{
	if (squeezed || !faulty(in))
		return;
	squeezed = 1;
	cgroup_quota(&cg, d->run->o.quota_us, d->run->o.cfs_period_us);
}

/* The kernel counts how often it throttled us. */
static void leave(struct injection *in)
{
	char text[1024], *p;

	if (cg.version && !cgroup_read(&cg, "cpu.stat", text, sizeof(text)) && (p = strstr(text, "nr_throttled ")))
		in->count = atol(p + strlen("nr_throttled "));
	cgroup_leave(&cg);
}

const struct fault fault_throttle = {
	.name = "throttle", .parts = PART_CPU | PART_CGROUP, .prepare = enter, .host = squeeze, .end = leave,
};
