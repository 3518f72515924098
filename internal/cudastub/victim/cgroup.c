/* A control group for one process.
 *
 * Version 1: a child of the group it is in, in the controller's hierarchy.
 * Version 2: a child of the nearest group above that which enables the controller
 * for its children (cgroup.subtree_control); that setting itself is never changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

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

/* Where the hierarchy with the controller is mounted. */
static int find_mount(int version, const char *controller, char *out, size_t size)
{
	char dir[256], type[64], opts[256];
	FILE *f = fopen("/proc/self/mounts", "re");
	int found = 0;

	while (f && !found && fscanf(f, "%*s %255s %63s %255s %*d %*d", dir, type, opts) == 3)
		if (version == 1 ? !strcmp(type, "cgroup") && has_word(opts, controller) : !strcmp(type, "cgroup2")) {
			snprintf(out, size, "%s", dir);
			found = 1;
		}
	if (f)
		fclose(f);
	return found ? 0 : -1;
}

/* Our path inside the hierarchy, from "id:controllers:path". */
static int find_own_path(int version, const char *controller, char *out, size_t size)
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
		if (version == 1 ? has_word(controllers + 1, controller) : !controllers[1]) {
			snprintf(out, size, "%s", path + 1);
			found = 1;
		}
	}
	if (f)
		fclose(f);
	return found ? 0 : -1;
}

/* Version 2: shortens home's path to a group that enables the controller for its children. */
static int find_parent_v2(const char *mount, const char *controller, char *dir)
{
	char control[256];

	for (;;) {
		char *slash;

		if (!read_file(dir, "cgroup.subtree_control", control, sizeof(control)) && has_word(control, controller))
			return 0;
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= strlen(mount))
			return -1;
		*slash = 0;
	}
}

/* The kernel shares CPU time between sessions by their priority (CONFIG_SCHED_AUTOGROUP), which counts nothing in a
 * control group: there the group's weight does. A nice level is a quarter more or less. */
static void keep_priority(const struct cgroup *g)
{
	char text[64];
	double weight = 1024;
	int nice;

	if (read_file("/proc/self", "autogroup", text, sizeof(text)) || sscanf(text, "/autogroup-%*d nice %d", &nice) != 1)
		return;
	for (; nice < 0; nice++)
		weight *= 1.25;
	for (; nice > 0; nice--)
		weight /= 1.25;
	snprintf(text, sizeof(text), "%.0f", g->version == 1 ? weight : weight * 100 / 1024);
	cgroup_write(g, g->version == 1 ? "cpu.shares" : "cpu.weight", text);
}

static int make_group(struct cgroup *g, int version, const char *controller)
{
	char mount[256], own[256], parent[300], pid[32];

	if (find_mount(version, controller, mount, sizeof(mount)) || find_own_path(version, controller, own, sizeof(own)))
		return -1;
	if ((size_t)snprintf(g->home, sizeof(g->home), "%s%s", mount, strcmp(own, "/") ? own : "") >= sizeof(g->home))
		return -1;
	strcpy(parent, g->home);
	if (version == 2 && find_parent_v2(mount, controller, parent))
		return -1;
	if ((size_t)snprintf(g->group, sizeof(g->group), "%s/cudastub-%d", parent, getpid()) >= sizeof(g->group))
		return -1;
	if (mkdir(g->group, 0755))
		return -1;
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!access(g->group, W_OK) && !write_file(g->group, "cgroup.procs", pid)) {
		g->version = version;
		if (!strcmp(controller, "cpu"))
			keep_priority(g);
		return 0;
	}
	rmdir(g->group);
	return -1;
}

int cgroup_enter(struct cgroup *g, const char *controller)
{
	return make_group(g, 1, controller) && make_group(g, 2, controller) ? -1 : 0;
}

int cgroup_write(const struct cgroup *g, const char *name, const char *text)
{
	return write_file(g->group, name, text);
}

void cgroup_quota(const struct cgroup *g, long quota_us, long period_us)
{
	char text[64];

	if (g->version == 1) {
		snprintf(text, sizeof(text), "%ld", period_us);
		cgroup_write(g, "cpu.cfs_period_us", text);
		snprintf(text, sizeof(text), "%ld", quota_us);
		cgroup_write(g, "cpu.cfs_quota_us", text);
		return;
	}
	snprintf(text, sizeof(text), "%ld %ld", quota_us, period_us);
	cgroup_write(g, "cpu.max", text);
}

int cgroup_read(const struct cgroup *g, const char *name, char *out, size_t size)
{
	return read_file(g->group, name, out, size);
}

/* Moves back to the group it came from, and removes its own. */
void cgroup_leave(struct cgroup *g)
{
	char pid[32];

	if (!g->version)
		return;
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(g->home, "cgroup.procs", pid);
	if (rmdir(g->group))
		fprintf(stderr, "victim: cannot remove %s: %s\n", g->group, strerror(errno));
	g->version = 0;
}
