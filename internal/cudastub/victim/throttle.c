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
	return cgroup_enter(&cg, in->run, "cpu");
}

static void squeeze(struct injection *in, struct dispatcher *d)
{
	const struct options *o = &d->run->o;
	char text[64];

	if (squeezed || !faulty(in))
		return;
	squeezed = 1;
	if (cg.version == 1) {
		snprintf(text, sizeof(text), "%ld", o->cfs_period_us);
		cgroup_write(&cg, "cpu.cfs_period_us", text);
		snprintf(text, sizeof(text), "%ld", o->quota_us);
		cgroup_write(&cg, "cpu.cfs_quota_us", text);
		return;
	}
	snprintf(text, sizeof(text), "%ld %ld", o->quota_us, o->cfs_period_us);
	cgroup_write(&cg, "cpu.max", text);
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
