/* Driver: memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"

static int allocate(void **p, size_t size, enum range_kind kind, unsigned flags)
{
	hollow_busy(settings()->alloc_ns);
	return memory_take(size, kind, flags, p);
}

API cuMemAlloc_v2(void **p, size_t size)
{
	HIT;
	return allocate(p, size, RANGE_DEVICE, 0);
}

API cuMemAllocPitch_v2(void **p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	HIT;
	(void)element;
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(p, *pitch * height, RANGE_DEVICE, 0);
}

API cuMemAllocManaged(void **p, size_t size, unsigned flags)
{
	HIT;
	return allocate(p, size, RANGE_MANAGED, flags);
}

/* Like the real one, it waits until the device has finished all queued work. */
API cuMemFree_v2(void *p)
{
	HIT;
	if (!p)
		return OK;
	wait_device(thread_device);
	hollow_busy(settings()->free_ns);
	return memory_give(p);
}

API cuMemAllocHost_v2(void **p, size_t size)
{
	HIT;
	return allocate(p, size, RANGE_HOST, 0);
}

API cuMemHostAlloc(void **p, size_t size, unsigned flags)
{
	HIT;
	return allocate(p, size, RANGE_HOST, flags);
}

API cuMemFreeHost(void *p)
{
	HIT;
	hollow_busy(settings()->free_ns);
	return memory_give(p);
}

API cuMemHostRegister_v2(void *p, size_t size, unsigned flags)
{
	HIT;
	struct range r;
	if (!p || !size)
		return INVALID_VALUE;
	if (range_find(p, &r))
		return ALREADY_REGISTERED;
	hollow_busy(settings()->alloc_ns);
	range_add(p, size, RANGE_REGISTERED, thread_device, flags);
	return OK;
}

API cuMemHostUnregister(void *p)
{
	HIT;
	struct range r;
	if (!range_find(p, &r) || r.kind != RANGE_REGISTERED)
		return NOT_REGISTERED;
	range_remove(p, &r);
	return OK;
}

API cuMemHostGetDevicePointer_v2(void **device, void *p, unsigned flags)
{
	HIT;
	(void)flags;
	*device = p;
	return OK;
}

API cuMemHostGetFlags(unsigned *flags, void *p)
{
	HIT;
	struct range r;
	if (!range_find(p, &r))
		return INVALID_VALUE;
	*flags = r.flags;
	return OK;
}

API cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	HIT;
	uint64_t used = __atomic_load_n(&devices[thread_device].used, __ATOMIC_RELAXED);
	*total = settings()->memory;
	*free_bytes = used < *total ? *total - used : 0;
	return OK;
}

API cuMemGetAddressRange_v2(void **base, size_t *size, void *p)
{
	HIT;
	struct range r;
	if (!range_find(p, &r))
		return NOT_FOUND;
	if (base)
		*base = r.at;
	if (size)
		*size = r.size;
	return OK;
}

static int pointer_attribute(void *out, int which, void *p)
{
	struct range r = {0};
	bool found = range_find(p, &r) && r.kind != RANGE_NONE;
	bool host = r.kind == RANGE_HOST || r.kind == RANGE_REGISTERED;
	if (!found && which != 8 && which != 9)
		return INVALID_VALUE;
	switch (which) {
	case 1: /* context */
		*(void **)out = &devices[r.device];
		return OK;
	case 2: /* memory type: 1 host, 2 device */
		*(unsigned *)out = host ? 1 : 2;
		return OK;
	case 3: /* device pointer */
		*(void **)out = p;
		return OK;
	case 4: /* host pointer */
		*(void **)out = host || r.kind == RANGE_MANAGED ? p : NULL;
		return OK;
	case 6: /* sync memory operations */
		*(unsigned *)out = 0;
		return OK;
	case 7: /* buffer id */
		*(uint64_t *)out = r.id;
		return OK;
	case 8: /* managed */
		*(unsigned *)out = r.kind == RANGE_MANAGED;
		return OK;
	case 9: /* device ordinal */
		*(int *)out = found ? r.device : -2;
		return OK;
	case 11: /* start of the range */
		*(void **)out = r.at;
		return OK;
	case 12: /* size */
		*(size_t *)out = r.size;
		return OK;
	case 13: /* mapped */
		*(unsigned *)out = 1;
		return OK;
	}
	*(unsigned *)out = 0;
	return OK;
}

API cuPointerGetAttribute(void *out, int which, void *p)
{
	HIT;
	return pointer_attribute(out, which, p);
}

/* An unknown pointer is no error here: the values say so. */
API cuPointerGetAttributes(unsigned n, const int *which, void **out, void *p)
{
	HIT;
	for (unsigned i = 0; i < n; i++)
		if (pointer_attribute(out[i], which[i], p))
			memset(out[i], 0, which[i] == 2 || which[i] == 9 ? 4 : 8);
	return OK;
}

API cuPointerSetAttribute(const void *value, int which, void *p)
{
	HIT;
	(void)value, (void)which, (void)p;
	return OK;
}

API cuMemPrefetchAsync(void *p, size_t size, int device, void *stream)
{
	HIT;
	(void)p, (void)size, (void)device, (void)stream;
	return OK;
}

API cuMemAdvise(void *p, size_t size, int advice, int device)
{
	HIT;
	(void)p, (void)size, (void)advice, (void)device;
	return OK;
}

/* Virtual memory management: a reserved range that becomes usable when it is mapped. */
struct backing {
	size_t size;
	int device, refs;
};

enum { GRANULARITY = 2 << 20 };

API cuMemGetAllocationGranularity(size_t *granularity, const void *prop, int option)
{
	HIT;
	(void)prop, (void)option;
	*granularity = GRANULARITY;
	return OK;
}

API cuMemAddressReserve(void **p, size_t size, size_t alignment, void *fixed, unsigned long long flags)
{
	HIT;
	(void)fixed, (void)flags;
	if (!size || size % GRANULARITY)
		return INVALID_VALUE;
	if (alignment < GRANULARITY)
		alignment = GRANULARITY;
	char *at = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return OUT_OF_MEMORY;
	char *aligned = (char *)(((uintptr_t)at + alignment - 1) & ~(uintptr_t)(alignment - 1));
	if (aligned > at)
		munmap(at, (size_t)(aligned - at));
	if (aligned - at < (ptrdiff_t)alignment)
		munmap(aligned + size, alignment - (size_t)(aligned - at));
	range_add(aligned, size, RANGE_RESERVED, thread_device, 0);
	*p = aligned;
	return OK;
}

API cuMemAddressFree(void *p, size_t size)
{
	HIT;
	struct range r;
	if (!range_remove(p, &r) || r.kind != RANGE_RESERVED)
		return INVALID_VALUE;
	munmap(p, size);
	return OK;
}

API cuMemCreate(struct backing **handle, size_t size, const int *prop, unsigned long long flags)
{
	HIT;
	(void)flags;
	int device = prop ? prop[3] : thread_device; /* CUmemAllocationProp.location.id */
	if (!size || size % GRANULARITY || device < 0 || device >= MAX_DEVICES)
		return INVALID_VALUE;
	hollow_busy(settings()->alloc_ns);
	if (__atomic_add_fetch(&devices[device].used, size, __ATOMIC_RELAXED) > settings()->memory) {
		__atomic_sub_fetch(&devices[device].used, size, __ATOMIC_RELAXED);
		return OUT_OF_MEMORY;
	}
	*handle = calloc(1, sizeof **handle);
	**handle = (struct backing){.size = size, .device = device, .refs = 1};
	return OK;
}

API cuMemRelease(struct backing *handle)
{
	HIT;
	if (!handle)
		return INVALID_VALUE;
	__atomic_sub_fetch(&devices[handle->device].used, handle->size, __ATOMIC_RELAXED);
	free(handle);
	return OK;
}

API cuMemMap(void *p, size_t size, size_t offset, struct backing *handle, unsigned long long flags)
{
	HIT;
	(void)offset, (void)flags;
	return handle && !mprotect(p, size, PROT_READ | PROT_WRITE) ? OK : INVALID_VALUE;
}

API cuMemUnmap(void *p, size_t size)
{
	HIT;
	madvise(p, size, MADV_DONTNEED);
	return mprotect(p, size, PROT_NONE) ? INVALID_VALUE : OK;
}

API cuMemSetAccess(void *p, size_t size, const void *access, size_t n)
{
	HIT;
	(void)p, (void)size, (void)access, (void)n;
	return OK;
}

API cuMemGetAccess(unsigned long long *flags, const void *location, void *p)
{
	HIT;
	(void)location, (void)p;
	*flags = 3; /* read and write */
	return OK;
}
