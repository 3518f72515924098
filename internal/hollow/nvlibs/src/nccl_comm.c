/* Communicators of the hollow NCCL: the region in which ranks meet, and each rank's proxy thread. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nccl.h"

static void sleep_until(uint64_t when)
{
	struct timespec t = {.tv_sec = (time_t)(when / 1000000000u), .tv_nsec = (long)(when % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void free_work(struct work *w)
{
	for (struct nccl_op *o = w->first, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	free(w);
}

static void *act(void *arg)
{
	struct comm *c = arg;
	pthread_mutex_lock(&c->lock);
	while (!c->closing || c->first) {
		struct turn *t = c->first;
		if (!t) {
			pthread_cond_wait(&c->wake, &c->lock);
			continue;
		}
		if (!(c->first = t->next))
			c->last = &c->first;
		pthread_mutex_unlock(&c->lock);
		sleep_until(t->start);
		hollow_gate_finish(t->gate, run_work(c, t->work, t->start));
		if (!t->work->captured)
			free_work(t->work);
		free(t);
		pthread_mutex_lock(&c->lock);
		c->open--;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

#define PLACE "/dev/shm"
#define REGION "hollow-nccl-"

/* Removes the regions of ranks that ended before they met: no process holds a lock on them. */
static void sweep(void)
{
	DIR *d = opendir(PLACE);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, REGION, strlen(REGION)))
			continue;
		int fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(d), e->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

/* Opens a region and locks it, for as long as the rank waits for others. */
static int open_region(const char *path)
{
	for (;;) {
		struct stat s;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return fd;
		if (!flock(fd, LOCK_SH) && !fstat(fd, &s) && s.st_nlink)
			return fd;
		close(fd); /* another process removed it meanwhile */
	}
}

/* Opens the region of the id, and waits for the other ranks. */
static int join(struct comm *c)
{
	char path[64];
	uint64_t word[2];
	memcpy(word, c->id.bytes, sizeof word);
	snprintf(path, sizeof path, PLACE "/" REGION "%016llx%016llx", (unsigned long long)word[0],
		 (unsigned long long)word[1]);
	c->size = sizeof(struct region) + (size_t)CHUNK * (size_t)(c->ranks + c->ranks * c->ranks);
	sweep();
	int fd = open_region(path);
	if (fd < 0)
		return SYSTEM_ERROR;
	c->region = MAP_FAILED;
	if (!ftruncate(fd, (off_t)c->size))
		c->region = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->region == MAP_FAILED) {
		close(fd);
		return SYSTEM_ERROR;
	}
	bool last = __atomic_add_fetch(&c->region->joined, 1, __ATOMIC_ACQ_REL) == (uint32_t)c->ranks;
	bool met = meet(c, &c->region->callers);
	if (last || !met)
		unlink(path);
	close(fd);
	return met ? 0 : SYSTEM_ERROR;
}

static int make(struct comm **out, int ranks, const struct unique_id *id, int rank)
{
	if (ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks)
		return INVALID_ARGUMENT;
	struct comm *c = calloc(1, sizeof *c);
	if (!c)
		return SYSTEM_ERROR;
	c->ranks = ranks;
	c->rank = rank;
	c->id = *id;
	c->last = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	int status = join(c);
	if (!status && pthread_create(&c->proxy, NULL, act, c))
		status = SYSTEM_ERROR;
	if (status) {
		free(c);
		return status;
	}
	pthread_setname_np(c->proxy, "hollow NCCL");
	*out = c;
	return 0;
}

static int end(struct comm *c)
{
	if (!c)
		return 0;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->proxy, NULL);
	munmap(c->region, c->size);
	free(c);
	return 0;
}

API ncclCommInitRank(struct comm **out, int ranks, struct unique_id id, int rank)
{
	HIT;
	return make(out, ranks, &id, rank);
}

API ncclCommInitRankConfig(struct comm **out, int ranks, struct unique_id id, int rank, void *config)
{
	HIT;
	return make(out, ranks, &id, rank);
}

API ncclCommInitRankScalable(struct comm **out, int ranks, int rank, int ids, struct unique_id *id, void *config)
{
	HIT;
	return ids > 0 ? make(out, ranks, id, rank) : INVALID_ARGUMENT;
}

API ncclCommSplit(struct comm *c, int color, int key, struct comm **out, void *config)
{
	HIT;
	int rank = 0, ranks = 0;
	c->region->color[c->rank] = color;
	c->region->key[c->rank] = key;
	if (!meet(c, &c->region->callers))
		return SYSTEM_ERROR;
	for (int i = 0; i < c->ranks; i++) {
		if (c->region->color[i] != color)
			continue;
		ranks++;
		int k = c->region->key[i];
		rank += k < key || (k == key && i < c->rank);
	}
	struct unique_id id = c->id; /* the same on all ranks of this colour, different for other colours */
	uint64_t word;
	memcpy(&word, id.bytes, sizeof word);
	word = (word ^ ((uint64_t)(unsigned)++c->splits << 32 | (unsigned)color)) * 1099511628211ull;
	memcpy(id.bytes, &word, sizeof word);
	if (!meet(c, &c->region->callers))
		return SYSTEM_ERROR;
	*out = NULL;
	return color < 0 ? 0 : make(out, ranks, &id, rank);
}

API ncclCommDestroy(struct comm *c)
{
	HIT;
	return end(c);
}

API ncclCommFinalize(struct comm *c)
{
	HIT;
	return 0;
}

API ncclCommAbort(struct comm *c)
{
	HIT;
	if (!c)
		return 0;
	pthread_mutex_lock(&c->lock);
	bool busy = c->open > 0;
	pthread_mutex_unlock(&c->lock);
	if (busy) /* the other ranks would wait forever */
		__atomic_store_n(&c->region->aborted, 1, __ATOMIC_RELEASE);
	return end(c);
}

API ncclCommCount(struct comm *c, int *ranks)
{
	HIT;
	*ranks = c->ranks;
	return 0;
}

API ncclCommUserRank(struct comm *c, int *rank)
{
	HIT;
	*rank = c->rank;
	return 0;
}

API ncclCommGetAsyncError(struct comm *c, int *status)
{
	HIT;
	*status = 0;
	return 0;
}

API ncclCommRegister(struct comm *c, void *at, size_t size, void **handle)
{
	HIT;
	*handle = at;
	return 0;
}

API ncclCommDeregister(struct comm *c, void *handle)
{
	HIT;
	return 0;
}

API ncclCommMemStats(struct comm *c, int what, uint64_t *value)
{
	HIT;
	*value = 0;
	return 0;
}
