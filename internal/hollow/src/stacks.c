/*
* The stacks of calls, as the program itself unwinds them, to check a tracer that reads stacks
 * from outside. HOLLOW_STACKS names a file, to which each stack that is not there yet is
 * appended as a line: the function, then its callers, innermost first, each as the name of its
 * file + the address in it (as the file has it) that the call returns to. Code in no file is
 * "+0x0". glibc's backtrace unwinds by .eh_frame; it cannot pass a return probe, so this is
 * for runs without a tracer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hollow.h"

enum { FRAMES = 1024, SEEN = 1 << 16, LINE = 128 << 10 };

int hollow_stacks; /* whether stacks are written */

static int out = -1;
static uint64_t seen[SEEN]; /* hashes of what was written; open addressing */
static int written;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("HOLLOW_STACKS");
	if (!path || !*path)
		return;
	out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (out < 0) {
		fprintf(stderr, "hollow GPU: open HOLLOW_STACKS %s: %m\n", path);
		abort();
	}
	hollow_stacks = 1;
}

/* Adds the hash; returns 0 if it was there already. */
static int is_new(uint64_t hash)
{
	hash += !hash;
	for (uint64_t i = hash;; i++) {
		uint64_t *s = &seen[i % SEEN];
		if (*s == hash)
			return 0;
		if (*s)
			continue;
		if (++written == SEEN - 1) {
			fprintf(stderr, "hollow GPU: more than %d stacks\n", written);
			abort();
		}
		*s = hash;
		return 1;
	}
}

static size_t frame(char *to, size_t room, const void *pc)
{
	char path[PATH_MAX];
	struct link_map *map = NULL;
	Dl_info info;
	/* The byte before belongs to the call: a call may be the last instruction of its file. */
	if (!dladdr1((const char *)pc - 1, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return (size_t)snprintf(to, room, " +0x0");
	const char *name = *map->l_name ? map->l_name : "/proc/self/exe";
	if (!realpath(name, path))
		snprintf(path, sizeof path, "%s", name);
	const char *slash = strrchr(path, '/');
	return (size_t)snprintf(to, room, " %s+%#lx", slash ? slash + 1 : path, (uintptr_t)pc - map->l_addr);
}

/* Writes a call's stack. `caller` is where the called function returns to. */
void hollow_stack(const char *function, const void *caller)
{
	static char line[LINE];
	void *pc[FRAMES];
	if (!strncmp(function, "__cudaRegister", 14)) /* a hundred thousand calls, none of which is traced */
		return;
	int n = backtrace(pc, FRAMES), from = 0;
	while (from < n && pc[from] != caller) /* frames of this library, above the program's */
		from++;
	uint64_t hash = 1469598103934665603ull ^ (uintptr_t)function; /* FNV-1a */
	for (int i = from; i < n; i++)
		hash = (hash ^ (uintptr_t)pc[i]) * 1099511628211ull;
	pthread_mutex_lock(&writing);
	if (is_new(hash)) {
		size_t used = (size_t)snprintf(line, LINE, "%s", function);
		for (int i = from; i < n && used < LINE - PATH_MAX; i++)
			used += frame(line + used, LINE - used, pc[i]);
		line[used++] = '\n';
		if (write(out, line, used) != (ssize_t)used) {
			fprintf(stderr, "hollow GPU: write stacks: %m\n");
			abort();
		}
	}
	pthread_mutex_unlock(&writing);
}
