/* libnccl.so.2: collectives that really wait for each other, without moving data.
 *
 * Ranks are threads or processes of this machine. The ranks of a communicator share
 * a page named after its unique id, in which each counts how many collectives it has
 * entered. A call returns at once; what waits, as with NCCL, is the synchronisation
 * of its stream, until every rank has entered. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "row.h"
#include "nccl.h"

#define FN PROTOTYPE
#include "nccl.def"
#undef FN

enum { MAX_RANKS = 64, MAX_WAITS = 4096, MAX_GROUP = 256, PAUSE_MS = 20, PATIENCE_S = 60 };

/* What a stream or, for WAIT_JOINED, an initialisation waits for. */
enum wait_kind { WAIT_ALL, WAIT_SENT, WAIT_RECEIVED, WAIT_JOINED, WAIT_SPLIT, WAIT_READ };

struct shared {
	_Atomic uint32_t joined, aborted;
	_Atomic uint32_t news; /* a futex: counts the changes that ranks may be waiting for */
	_Atomic uint64_t entered[MAX_RANKS];
	_Atomic uint64_t split[MAX_RANKS], read[MAX_RANKS]; /* splits that each rank has announced, and read */
	_Atomic int color[MAX_RANKS], key[MAX_RANKS];
	_Atomic uint64_t sent[MAX_RANKS][MAX_RANKS], received[MAX_RANKS][MAX_RANKS]; /* from, to */
};

struct nccl_comm {
	struct shared *shared;
	int rank, n;
	int shrunk; /* how many times */
	char path[128]; /* empty: within this process */
};

struct wait {
	struct nccl_comm comm;
	ncclComm_t owner;
	enum wait_kind kind;
	int peer;
	uint64_t target;
	uintptr_t stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wait waits[MAX_WAITS]; /* guarded by lock */
static int n_waits;

static __thread int group_depth, n_group;
static __thread struct wait *group; /* static TLS has no room for it */

static int all_reached(const _Atomic uint64_t *counts, const struct wait *w)
{
	for (int i = 0; i < w->comm.n; i++)
		if (counts[i] < w->target)
			return 0;
	return 1;
}

static int done(const struct wait *w)
{
	const struct shared *s = w->comm.shared;
	int me = w->comm.rank;

	if (s->aborted)
		return 1;
	switch (w->kind) {
	case WAIT_SENT:
		return s->sent[w->peer][me] >= w->target;
	case WAIT_RECEIVED:
		return s->received[me][w->peer] >= w->target;
	case WAIT_JOINED:
		return s->joined >= (uint32_t)w->comm.n;
	case WAIT_SPLIT:
		return all_reached(s->split, w);
	case WAIT_READ:
		return all_reached(s->read, w);
	default:
		return all_reached(s->entered, w);
	}
}

static int wait_for(const struct wait *w)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
	time_t begin = time(NULL);

	for (;;) {
		uint32_t news = w->comm.shared->news;

		if (done(w))
			return 0;
		if (time(NULL) - begin > PATIENCE_S)
			return NCCL_SYSTEM_ERROR;
		syscall(SYS_futex, &w->comm.shared->news, FUTEX_WAIT, news, &pause, NULL, 0);
	}
}

static void tell(struct shared *s)
{
	s->news++;
	syscall(SYS_futex, &s->news, FUTEX_WAKE, MAX_RANKS, NULL, NULL, 0);
}

/* The synchronisation of a stream, or of all. */
static void wait_for_stream(uintptr_t stream, int all)
{
	for (;;) {
		struct wait w = {0};

		pthread_mutex_lock(&lock);
		for (int i = 0; i < n_waits && !w.owner; i++)
			if (all || waits[i].stream == stream) {
				w = waits[i];
				memmove(&waits[i], &waits[i + 1], (size_t)(--n_waits - i) * sizeof(w));
			}
		pthread_mutex_unlock(&lock);
		if (!w.owner)
			return;
		wait_for(&w);
	}
}

static int make_id(ncclUniqueId *id)
{
	memset(id, 0, sizeof(*id));
	return getrandom(id->internal, 16, 0) == 16 ? 0 : NCCL_SYSTEM_ERROR;
}

static struct shared *map_shared(const char *path)
{
	int fd = *path ? open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;
	void *p = MAP_FAILED;

	if (*path && (fd < 0 || ftruncate(fd, sizeof(struct shared))))
		return NULL;
	p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | (*path ? 0 : MAP_ANONYMOUS), fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void path_of(const ncclUniqueId *id, char *path, size_t size)
{
	const char *dir = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	uint64_t h[2];

	memcpy(h, id->internal, sizeof(h));
	snprintf(path, size, "%s/cudastub-nccl-%016llx%016llx", dir, (unsigned long long)h[0], (unsigned long long)h[1]);
}

static int join(const struct wait *w)
{
	int err = wait_for(w);

	if (!w->comm.rank && *w->comm.path)
		unlink(w->comm.path); /* all have it open */
	return err;
}

static int queue(const struct wait *w)
{
	if (n_group == MAX_GROUP)
		return NCCL_INVALID_USAGE;
	if (!group)
		group = calloc(MAX_GROUP, sizeof(*group));
	group[n_group++] = *w;
	return 0;
}

static int init_rank(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank)
{
	struct wait w = {.kind = WAIT_JOINED};
	ncclComm_t c;

	if (!out || nranks < 1 || nranks > MAX_RANKS || rank < 0 || rank >= nranks)
		return NCCL_INVALID_ARGUMENT;
	c = calloc(1, sizeof(*c));
	*c = (struct nccl_comm){.rank = rank, .n = nranks};
	path_of(id, c->path, sizeof(c->path));
	c->shared = map_shared(c->path);
	if (!c->shared) {
		free(c);
		return NCCL_SYSTEM_ERROR;
	}
	cudastub_on_sync(wait_for_stream);
	c->shared->joined++;
	tell(c->shared);
	*out = c;
	w.comm = *c;
	w.owner = c;
	return group_depth ? queue(&w) : join(&w);
}

/* Makes a communicator of n ranks of parent; name tells it from other children of parent. */
static int make_child(ncclComm_t parent, ncclComm_t *out, int rank, int n, const char *name)
{
	struct wait w = {.kind = WAIT_JOINED};
	ncclComm_t c = calloc(1, sizeof(*c));

	*c = (struct nccl_comm){.rank = rank, .n = n};
	if (snprintf(c->path, sizeof(c->path), "%s-%s", parent->path, name) < (int)sizeof(c->path))
		c->shared = map_shared(c->path);
	if (!c->shared) {
		free(c);
		return NCCL_SYSTEM_ERROR;
	}
	c->shared->joined++;
	tell(c->shared);
	*out = c;
	w.comm = *c;
	w.owner = c;
	return join(&w);
}

static int split(ncclComm_t c, int color, int key, ncclComm_t *out)
{
	struct wait w = {.owner = c, .kind = WAIT_SPLIT};
	int me = c ? c->rank : 0, rank = 0, n = 0, err;
	char name[32];

	if (!c || !out || !*c->path)
		return NCCL_INVALID_ARGUMENT;
	c->shared->color[me] = color;
	c->shared->key[me] = key;
	w.comm = *c;
	w.target = ++c->shared->split[me];
	tell(c->shared);
	err = wait_for(&w);
	for (int i = 0; i < c->n && !err; i++) {
		int before = c->shared->key[i] < key || (c->shared->key[i] == key && i < me);

		n += c->shared->color[i] == color;
		rank += c->shared->color[i] == color && before;
	}
	w.kind = WAIT_READ; /* the next split may begin when all have read */
	c->shared->read[me]++;
	tell(c->shared);
	if (!err)
		err = wait_for(&w);
	*out = NULL;
	snprintf(name, sizeof(name), "%llu-%d", (unsigned long long)w.target, color);
	return err || color < 0 ? err : make_child(c, out, rank, n, name);
}

static int shrink_comm(ncclComm_t c, const int *excluded, int n, ncclComm_t *out)
{
	char name[32];
	int rank = c ? c->rank : 0;

	if (!c || !out || !*c->path || n < 0 || n >= c->n)
		return NCCL_INVALID_ARGUMENT;
	for (int i = 0; i < n; i++)
		rank -= excluded[i] < c->rank;
	snprintf(name, sizeof(name), "x%d", ++c->shrunk);
	return make_child(c, out, rank, c->n - n, name);
}

static int init_all(ncclComm_t *comms, int n)
{
	struct shared *s;

	if (!comms || n < 1 || n > MAX_RANKS)
		return NCCL_INVALID_ARGUMENT;
	s = map_shared("");
	if (!s)
		return NCCL_SYSTEM_ERROR;
	cudastub_on_sync(wait_for_stream);
	for (int i = 0; i < n; i++) {
		comms[i] = calloc(1, sizeof(**comms));
		*comms[i] = (struct nccl_comm){.shared = s, .rank = i, .n = n};
	}
	return 0;
}

/* The mapping stays: another communicator of this process, or a wait, may use it. */
static int destroy(ncclComm_t c, int abort)
{
	if (!c)
		return NCCL_INVALID_ARGUMENT;
	if (abort)
		c->shared->aborted = 1;
	if (abort)
		tell(c->shared);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_waits; i++)
		if (waits[i].owner == c)
			waits[i--] = waits[--n_waits];
	pthread_mutex_unlock(&lock);
	free(c);
	return 0;
}

/* Counts the caller as entered, and notes what its stream has to wait for. */
static int enqueue(struct wait *w)
{
	struct shared *s = w->comm.shared;
	int me = w->comm.rank;

	switch (w->kind) {
	case WAIT_SENT:
		w->target = ++s->received[w->peer][me];
		break;
	case WAIT_RECEIVED:
		w->target = ++s->sent[me][w->peer];
		break;
	default:
		w->target = ++s->entered[me];
	}
	if (w->kind != WAIT_ALL || done(w)) /* only the last rank to enter a collective wakes the others */
		tell(s);
	pthread_mutex_lock(&lock);
	if (n_waits < MAX_WAITS)
		waits[n_waits++] = *w;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int enter(ncclComm_t c, enum wait_kind kind, int peer, int type, cudaStream_t stream)
{
	struct wait w = {.owner = c, .kind = kind, .peer = peer, .stream = (uintptr_t)stream};

	if (!c || peer < 0 || peer >= c->n || type < 0 || type >= NCCL_TYPES)
		return NCCL_INVALID_ARGUMENT;
	w.comm = *c;
	return group_depth ? queue(&w) : enqueue(&w);
}

static int group_end(void)
{
	int err = 0;

	if (!group_depth)
		return NCCL_INVALID_USAGE;
	if (--group_depth)
		return 0;
	for (int i = 0; i < n_group && !err; i++)
		err = group[i].kind == WAIT_JOINED ? join(&group[i]) : enqueue(&group[i]);
	n_group = 0;
	return err;
}

#define FUNCTIONS "nccl.def"
#include "rows.h"
