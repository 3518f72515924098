/* The GPU's memory is host memory; allocated, pinned and managed ranges are recorded. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct range *ranges; /* by address */
static size_t count, room;
static uint64_t last_id;

/* The index of the last range that begins at or below p, plus one. */
static size_t upper(const void *p)
{
	size_t lo = 0, hi = count;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ranges[mid].at <= (const char *)p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool range_find(const void *p, struct range *out)
{
	pthread_rwlock_rdlock(&lock);
	size_t i = upper(p);
	bool found = i && (const char *)p < ranges[i - 1].at + ranges[i - 1].size;
	if (found)
		*out = ranges[i - 1];
	pthread_rwlock_unlock(&lock);
	return found;
}

void range_add(void *p, size_t size, enum range_kind kind, int device, unsigned flags)
{
	pthread_rwlock_wrlock(&lock);
	if (count == room) {
		room = room ? room * 2 : 256;
		ranges = realloc(ranges, room * sizeof *ranges);
	}
	size_t i = upper(p);
	memmove(ranges + i + 1, ranges + i, (count - i) * sizeof *ranges);
	ranges[i] = (struct range){.at = p, .size = size, .kind = kind, .device = device, .flags = flags};
	ranges[i].id = ++last_id;
	count++;
	pthread_rwlock_unlock(&lock);
}

bool range_remove(const void *p, struct range *out)
{
	pthread_rwlock_wrlock(&lock);
	size_t i = upper(p);
	bool found = i && ranges[i - 1].at == p;
	if (found) {
		*out = ranges[i - 1];
		memmove(ranges + i - 1, ranges + i, (count - i) * sizeof *ranges);
		count--;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

static size_t pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

int memory_take(size_t size, enum range_kind kind, unsigned flags, void **out)
{
	int device = thread_device;
	if (!size)
		return INVALID_VALUE;
	if (kind == RANGE_DEVICE &&
	    __atomic_add_fetch(&devices[device].used, pages(size), __ATOMIC_RELAXED) > settings()->memory) {
		__atomic_sub_fetch(&devices[device].used, pages(size), __ATOMIC_RELAXED);
		return OUT_OF_MEMORY;
	}
	void *p = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return OUT_OF_MEMORY;
	range_add(p, size, kind, device, flags);
	*out = p;
	return OK;
}

int memory_give(void *p)
{
	struct range r;
	if (!p)
		return OK;
	if (!range_remove(p, &r))
		return INVALID_VALUE;
	if (r.kind == RANGE_DEVICE)
		__atomic_sub_fetch(&devices[r.device].used, pages(r.size), __ATOMIC_RELAXED);
	munmap(p, pages(r.size));
	return OK;
}
