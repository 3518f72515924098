/* A CPU cgroup of our own, with a quota that is set when the fault begins.
 *
 * Version 1: a child of our own group in the "cpu" hierarchy.
 * Version 2: a child of the nearest group above ours that hands the cpu controller
 * down (cgroup.subtree_control); that setting itself is never changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"

static struct {
	char group[300], home[300]; /* directories: ours, and where we came from */
	int version, squeezed;
} cg;

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[600];
	int fd, ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok ? 0 : -1;
}

static int read_file(const char *dir, const char *name, char *out, size_t size)
{
	char path[600];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(out, 1, size - 1, f);
	out[n] = 0;
	fclose(f);
	return 0;
}

/* Is word one of the comma- or blank-separated words of list? */
static int has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || strchr(", \n", p[-1])) && (!p[len] || strchr(", \n", p[len])))
			return 1;
	return 0;
}

/* Where the hierarchy with the cpu controller is mounted. */
static int find_mount(int version, char *out, size_t size)
{
	char dir[256], type[64], opts[256];
	FILE *f = fopen("/proc/self/mounts", "re");
	int found = 0;

	while (f && !found && fscanf(f, "%*s %255s %63s %255s %*d %*d", dir, type, opts) == 3)
		if (version == 1 ? !strcmp(type, "cgroup") && has_word(opts, "cpu") : !strcmp(type, "cgroup2")) {
			snprintf(out, size, "%s", dir);
			found = 1;
		}
	if (f)
		fclose(f);
	return found ? 0 : -1;
}

/* Our path inside the hierarchy, from "id:controllers:path". */
static int find_own_path(int version, char *out, size_t size)
{
	char line[512], *controllers, *path;
	FILE *f = fopen("/proc/self/cgroup", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path = 0;
		if (version == 1 ? has_word(controllers + 1, "cpu") : !controllers[1]) {
			snprintf(out, size, "%s", path + 1);
			found = 1;
		}
	}
	if (f)
		fclose(f);
	return found ? 0 : -1;
}

/* Version 2: cuts home's path upwards to a group that hands cpu down. */
static int find_parent_v2(const char *mount, char *dir)
{
	char control[256];

	for (;;) {
		char *slash;

		if (!read_file(dir, "cgroup.subtree_control", control, sizeof(control)) && has_word(control, "cpu"))
			return 0;
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= strlen(mount))
			return -1;
		*slash = 0;
	}
}

static int make_group(int version)
{
	char mount[256], own[256], parent[300], pid[32];

	if (find_mount(version, mount, sizeof(mount)) || find_own_path(version, own, sizeof(own)))
		return -1;
	if ((size_t)snprintf(cg.home, sizeof(cg.home), "%s%s", mount, strcmp(own, "/") ? own : "") >= sizeof(cg.home))
		return -1;
	strcpy(parent, cg.home);
	if (version == 2 && find_parent_v2(mount, parent))
		return -1;
	if ((size_t)snprintf(cg.group, sizeof(cg.group), "%s/cudastub-%d", parent, getpid()) >= sizeof(cg.group))
		return -1;
	if (mkdir(cg.group, 0755))
		return -1;
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!access(cg.group, W_OK) && !write_file(cg.group, "cgroup.procs", pid)) {
		cg.version = version;
		return 0;
	}
	rmdir(cg.group);
	return -1;
}

int throttle_enter(struct run *r)
{
	if (make_group(1) && make_group(2)) {
		fprintf(stderr, "victim: no CPU cgroup can be made here (%s)\n", strerror(errno));
		return -1;
	}
	snprintf(r->truth.cgroup, sizeof(r->truth.cgroup), "%s", cg.group);
	return 0;
}

void throttle_squeeze(struct run *r)
{
	char text[64];

	if (cg.squeezed)
		return;
	cg.squeezed = 1;
	if (cg.version == 1) {
		snprintf(text, sizeof(text), "%ld", r->o.cfs_period_us);
		write_file(cg.group, "cpu.cfs_period_us", text);
		snprintf(text, sizeof(text), "%ld", r->o.quota_us);
		write_file(cg.group, "cpu.cfs_quota_us", text);
		return;
	}
	snprintf(text, sizeof(text), "%ld %ld", r->o.quota_us, r->o.cfs_period_us);
	write_file(cg.group, "cpu.max", text);
}

/* Reads how often the kernel throttled us, goes home and removes the group. */
void throttle_leave(struct run *r)
{
	char text[1024], pid[32], *p;

	if (!cg.version)
		return;
	if (!read_file(cg.group, "cpu.stat", text, sizeof(text)) && (p = strstr(text, "nr_throttled ")))
		r->truth.fault_count = atol(p + strlen("nr_throttled "));
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(cg.home, "cgroup.procs", pid);
	if (rmdir(cg.group))
		fprintf(stderr, "victim: cannot remove %s: %s\n", cg.group, strerror(errno));
	cg.version = 0;
}
