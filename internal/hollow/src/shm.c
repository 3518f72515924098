/* The file that a hollow GPU shares with an observer: settings in, counts out. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

/* The same layout is in counts.go. */
#define MAGIC 0x31776f6c6c6f68 /* "hollow1" */
#define SETTINGS_SIZE (64 << 10)
#define ROWS 32768
#define TEXT_SIZE (8 << 20)

struct shared {
	uint64_t magic;
	uint64_t generation; /* of the settings; odd while they are written */
	char settings[SETTINGS_SIZE];
	uint32_t lock; /* of the rows; owner's thread id */
	uint32_t rows;
	uint32_t text;
	uint32_t unused;
	struct row row[ROWS];
	char names[TEXT_SIZE];
};

static struct shared *shared;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map_shared(void)
{
	const char *path = getenv("HOLLOW_FILE");
	int fd = -1;
	if (path && *path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		struct stat st;
		if (fd < 0 || fstat(fd, &st) || (st.st_size < (off_t)sizeof *shared && ftruncate(fd, sizeof *shared))) {
			fprintf(stderr, "hollow GPU: open HOLLOW_FILE %s: %m\n", path);
			abort();
		}
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
		      fd < 0 ? MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		fprintf(stderr, "hollow GPU: map the shared file: %m\n");
		abort();
	}
	if (fd >= 0)
		close(fd);
	const char *env = getenv("HOLLOW");
	if (!shared->generation && env)
		snprintf(shared->settings, SETTINGS_SIZE, "%s", env);
	shared->magic = MAGIC;
	if (!shared->generation)
		shared->generation = 2;
}

static struct shared *file(void)
{
	pthread_once(&once, map_shared);
	return shared;
}

uint64_t settings_generation(void)
{
	return __atomic_load_n(&file()->generation, __ATOMIC_ACQUIRE);
}

uint64_t settings_text(char *out, size_t size)
{
	uint64_t before, after;
	do {
		while ((before = settings_generation()) & 1)
			;
		snprintf(out, size, "%s", shared->settings);
		after = settings_generation();
	} while (before != after);
	return before;
}

static uint64_t hash_of(uint32_t kind, const char *name)
{
	uint64_t h = 1469598103934665603ull ^ kind; /* FNV-1a */
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ull;
	return h;
}

static struct row *find(uint32_t kind, const char *name, uint64_t hash, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct row *r = &shared->row[i];
		if (r->hash == hash && r->kind == kind && !strcmp(shared->names + r->name, name))
			return r;
	}
	return NULL;
}

static struct row *add(uint32_t kind, const char *name, uint64_t hash, uint32_t n)
{
	size_t size = strlen(name) + 1;
	if (n == ROWS - 1 || shared->text + size > TEXT_SIZE - 16)
		return NULL;
	struct row *r = &shared->row[n];
	memcpy(shared->names + shared->text, name, size);
	r->name = shared->text;
	r->hash = hash;
	r->kind = kind;
	shared->text += size;
	__atomic_store_n(&shared->rows, n + 1, __ATOMIC_RELEASE);
	return r;
}

struct row *hollow_row(uint32_t kind, const char *name)
{
	struct shared *s = file();
	uint64_t hash = hash_of(kind, name);
	uint32_t seen = __atomic_load_n(&s->rows, __ATOMIC_ACQUIRE);
	struct row *r = find(kind, name, hash, 0, seen);
	if (r)
		return r;
	uint32_t free = 0, self = (uint32_t)getpid();
	while (!__atomic_compare_exchange_n(&s->lock, &free, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		free = 0;
		usleep(10);
	}
	uint32_t n = s->rows;
	r = find(kind, name, hash, seen, n);
	if (!r)
		r = add(kind, name, hash, n);
	if (!r) { /* full: use the last row, which add leaves free, to say so */
		r = &s->row[ROWS - 1];
		r->kind = kind;
		r->name = TEXT_SIZE - 16;
		memcpy(s->names + r->name, "(no room)", 10);
		s->rows = ROWS;
	}
	__atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
	return r;
}

uint64_t hollow_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void hollow_busy(uint64_t ns)
{
	if (!ns)
		return;
	for (uint64_t end = hollow_now() + ns; hollow_now() < end;)
		RELAX();
}
