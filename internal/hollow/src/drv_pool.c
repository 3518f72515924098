/* Driver: memory pools, and memory allocated in the order of a stream. */
#include <stdlib.h>

#include "engine.h"

/* Pools: each allocation is separate. A pool holds exactly what is allocated. */
struct pool {
	int device;
};

static struct pool default_pool[MAX_DEVICES];

static int pool_of(struct pool **pool, int device)
{
	if (device < 0 || device >= MAX_DEVICES)
		return INVALID_DEVICE;
	default_pool[device].device = device;
	*pool = &default_pool[device];
	return OK;
}

API cuDeviceGetDefaultMemPool(struct pool **pool, int device)
{
	HIT;
	return pool_of(pool, device);
}

API cuDeviceGetMemPool(struct pool **pool, int device)
{
	HIT;
	return pool_of(pool, device);
}

API cuDeviceSetMemPool(int device, struct pool *pool)
{
	HIT;
	(void)device, (void)pool;
	return OK;
}

API cuMemPoolCreate(struct pool **pool, const void *props)
{
	HIT;
	(void)props;
	*pool = calloc(1, sizeof **pool);
	(*pool)->device = thread_device;
	return OK;
}

API cuMemPoolDestroy(struct pool *pool)
{
	HIT;
	(void)pool;
	return OK;
}

API cuMemPoolTrimTo(struct pool *pool, size_t keep)
{
	HIT;
	(void)pool, (void)keep;
	return OK;
}

API cuMemPoolSetAttribute(struct pool *pool, int which, void *value)
{
	HIT;
	(void)pool, (void)which, (void)value;
	return OK;
}

API cuMemPoolGetAttribute(struct pool *pool, int which, void *value)
{
	HIT;
	if (which <= 3) {
		*(int *)value = 1;
		return OK;
	}
	*(uint64_t *)value = which == 4 ? 0 : __atomic_load_n(&devices[pool->device].used, __ATOMIC_RELAXED);
	return OK;
}

API cuMemPoolSetAccess(struct pool *pool, const void *access, size_t n)
{
	HIT;
	(void)pool, (void)access, (void)n;
	return OK;
}

API cuMemAllocAsync(void **p, size_t size, void *stream)
{
	HIT;
	(void)stream;
	return memory_take(size, RANGE_DEVICE, 0, p);
}

API cuMemAllocFromPoolAsync(void **p, size_t size, struct pool *pool, void *stream)
{
	HIT;
	(void)stream, (void)pool;
	return memory_take(size, RANGE_DEVICE, 0, p);
}

/* The memory is freed at once: kernels that were queued before may still run, but touch no memory.
 * During a capture it is kept: the graph's copies use it at each launch. */
API cuMemFreeAsync(void *p, void *stream)
{
	HIT;
	struct range r;
	struct stream *s = stream_of(stream);
	if (!range_find(p, &r) || r.at != (char *)p)
		return INVALID_VALUE;
	return s->capture ? OK : memory_give(p);
}
