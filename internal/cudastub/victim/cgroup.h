/* A control group of a process's own. */
#ifndef VICTIM_CGROUP_H
#define VICTIM_CGROUP_H

#include <stddef.h>

struct cgroup {
	char group[300], home[300]; /* directories: ours, and where we came from */
	int version;                /* 1 or 2; 0: not entered */
};

int cgroup_enter(struct cgroup *g, const char *controller); /* 0, or -1 if no group can be made; see errno */
int cgroup_write(const struct cgroup *g, const char *name, const char *text);
void cgroup_quota(const struct cgroup *g, long quota_us, long period_us); /* of CPU time */
int cgroup_read(const struct cgroup *g, const char *name, char *out, size_t size);
void cgroup_leave(struct cgroup *g);

#endif
