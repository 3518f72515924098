/* Runtime: memory, copies and fills. */
#include <string.h>

#include "rt.h"

DRIVER(cuMemAlloc_v2, void **, size_t);
DRIVER(cuMemAllocPitch_v2, void **, size_t *, size_t, size_t, unsigned);
DRIVER(cuMemAllocManaged, void **, size_t, unsigned);
DRIVER(cuMemFree_v2, void *);
DRIVER(cuMemHostAlloc, void **, size_t, unsigned);
DRIVER(cuMemAllocHost_v2, void **, size_t);
DRIVER(cuMemFreeHost, void *);
DRIVER(cuMemHostRegister_v2, void *, size_t, unsigned);
DRIVER(cuMemHostUnregister, void *);
DRIVER(cuMemHostGetDevicePointer_v2, void **, void *, unsigned);
DRIVER(cuMemHostGetFlags, unsigned *, void *);
DRIVER(cuMemGetInfo_v2, size_t *, size_t *);
DRIVER(cuPointerGetAttributes, unsigned, const int *, void **, const void *);
DRIVER(cuMemcpyHtoD_v2, void *, const void *, size_t);
DRIVER(cuMemcpyDtoH_v2, void *, const void *, size_t);
DRIVER(cuMemcpyDtoD_v2, void *, const void *, size_t);
DRIVER(cuMemcpy, void *, const void *, size_t);
DRIVER(cuMemcpyHtoDAsync_v2, void *, const void *, size_t, void *);
DRIVER(cuMemcpyDtoHAsync_v2, void *, const void *, size_t, void *);
DRIVER(cuMemcpyDtoDAsync_v2, void *, const void *, size_t, void *);
DRIVER(cuMemcpyAsync, void *, const void *, size_t, void *);
DRIVER(cuMemcpyPeerAsync, void *, void *, const void *, void *, size_t, void *);
DRIVER(cuMemcpyPeer, void *, void *, const void *, void *, size_t);
DRIVER(cuMemcpy2D_v2, const void *);
DRIVER(cuMemcpy2DAsync_v2, const void *, void *);
DRIVER(cuMemsetD8_v2, void *, unsigned char, size_t);
DRIVER(cuMemsetD8Async, void *, unsigned char, size_t, void *);
DRIVER(cuMemsetD2D8_v2, void *, size_t, unsigned char, size_t, size_t);
DRIVER(cuMemsetD2D8Async, void *, size_t, unsigned char, size_t, size_t, void *);
DRIVER(cuMemAllocAsync, void **, size_t, void *);
DRIVER(cuMemAllocFromPoolAsync, void **, size_t, void *, void *);
DRIVER(cuMemFreeAsync, void *, void *);
DRIVER(cuMemPoolCreate, void **, const void *);
DRIVER(cuMemPoolDestroy, void *);
DRIVER(cuMemPoolSetAttribute, void *, int, void *);
DRIVER(cuMemPoolGetAttribute, void *, int, void *);
DRIVER(cuMemPoolSetAccess, void *, const void *, size_t);
DRIVER(cuMemPoolTrimTo, void *, size_t);
DRIVER(cudaGetSymbolAddress, void **, const void *);

API cudaMalloc(void **p, size_t size)
{
	BEGIN;
	if (!size) {
		*p = NULL;
		return OK;
	}
	return rt_done(cuMemAlloc_v2(p, size));
}

API cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
	BEGIN;
	return rt_done(cuMemAllocPitch_v2(p, pitch, width, height, 4));
}

API cudaMallocManaged(void **p, size_t size, unsigned flags)
{
	BEGIN;
	return rt_done(cuMemAllocManaged(p, size, flags));
}

API cudaFree(void *p)
{
	BEGIN;
	return p ? rt_done(cuMemFree_v2(p)) : OK;
}

API cudaHostAlloc(void **p, size_t size, unsigned flags)
{
	BEGIN;
	return rt_done(cuMemHostAlloc(p, size, flags));
}

API cudaMallocHost(void **p, size_t size)
{
	BEGIN;
	return rt_done(cuMemAllocHost_v2(p, size));
}

API cudaFreeHost(void *p)
{
	BEGIN;
	return p ? rt_done(cuMemFreeHost(p)) : OK;
}

API cudaHostRegister(void *p, size_t size, unsigned flags)
{
	BEGIN;
	return rt_done(cuMemHostRegister_v2(p, size, flags));
}

API cudaHostUnregister(void *p)
{
	BEGIN;
	return rt_done(cuMemHostUnregister(p));
}

API cudaHostGetDevicePointer(void **device, void *p, unsigned flags)
{
	BEGIN;
	return rt_done(cuMemHostGetDevicePointer_v2(device, p, flags));
}

API cudaHostGetFlags(unsigned *flags, void *p)
{
	BEGIN;
	return rt_done(cuMemHostGetFlags(flags, p));
}

API cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	BEGIN;
	return rt_done(cuMemGetInfo_v2(free_bytes, total));
}

struct pointer_attributes { /* cudaPointerAttributes; type: 0 unregistered, 1 host, 2 device, 3 managed */
	int type, device;
	void *device_pointer, *host_pointer;
#if CUDART >= 13
	long reserved[8];
#endif
};

API cudaPointerGetAttributes(struct pointer_attributes *a, const void *p)
{
	BEGIN;
	unsigned type = 0, managed = 0;
	void *base = NULL, *host = NULL, *device = NULL;
	int ordinal = -1;
	*a = (struct pointer_attributes){.device = -1};
	if (!p)
		return OK;
	int error = cuPointerGetAttributes(6, (const int[]){2, 8, 9, 4, 3, 11},
					   (void *[]){&type, &managed, &ordinal, &host, &device, &base}, p);
	if (error)
		return rt_done(error);
	a->type = managed ? 3 : (int)type;
	if (a->type) {
		a->device = ordinal;
		a->device_pointer = device;
		a->host_pointer = host;
	} else {
		a->device = -2; /* cudaInvalidDeviceId */
		a->host_pointer = (void *)p;
	}
	return OK;
}

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT };

API cudaMemcpy(void *to, const void *from, size_t n, int kind)
{
	BEGIN;
	if (!n)
		return OK;
	switch (kind) {
	case HOST_TO_HOST:
		memmove(to, from, n);
		return OK;
	case HOST_TO_DEVICE:
		return rt_done(cuMemcpyHtoD_v2(to, from, n));
	case DEVICE_TO_HOST:
		return rt_done(cuMemcpyDtoH_v2(to, from, n));
	case DEVICE_TO_DEVICE:
		return rt_done(cuMemcpyDtoD_v2(to, from, n));
	case DEFAULT:
		return rt_done(cuMemcpy(to, from, n));
	}
	return rt_done(21); /* cudaErrorInvalidMemcpyDirection */
}

static int copy_async(void *to, const void *from, size_t n, int kind, void *stream)
{
	if (!n)
		return OK;
	switch (kind) {
	case HOST_TO_DEVICE:
		return rt_done(cuMemcpyHtoDAsync_v2(to, from, n, stream));
	case DEVICE_TO_HOST:
		return rt_done(cuMemcpyDtoHAsync_v2(to, from, n, stream));
	case DEVICE_TO_DEVICE:
		return rt_done(cuMemcpyDtoDAsync_v2(to, from, n, stream));
	case HOST_TO_HOST:
	case DEFAULT:
		return rt_done(cuMemcpyAsync(to, from, n, stream));
	}
	return rt_done(21);
}

API cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
	BEGIN;
	return copy_async(to, from, n, kind, stream);
}

API cudaMemcpyAsync_ptsz(void *to, const void *from, size_t n, int kind, void *stream)
{
	BEGIN;
	return copy_async(to, from, n, kind, stream ? stream : (void *)2);
}

API cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t n, void *stream)
{
	BEGIN;
	(void)to_device, (void)from_device;
	return n ? rt_done(cuMemcpyPeerAsync(to, NULL, from, NULL, n, stream)) : OK;
}

API cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t n)
{
	BEGIN;
	(void)to_device, (void)from_device;
	return n ? rt_done(cuMemcpyPeer(to, NULL, from, NULL, n)) : OK;
}

struct copy2d { /* CUDA_MEMCPY2D */
	size_t from_x, from_y, from_type;
	const void *from_host, *from_device, *from_array;
	size_t from_pitch, to_x, to_y, to_type;
	void *to_host, *to_device, *to_array;
	size_t to_pitch, width, height;
};

enum { UNIFIED = 4 };

static struct copy2d plane(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	return (struct copy2d){.from_type = UNIFIED, .from_device = from, .from_pitch = from_pitch, .to_type = UNIFIED,
			       .to_device = to, .to_pitch = to_pitch, .width = width, .height = height};
}

API cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind)
{
	BEGIN;
	(void)kind;
	struct copy2d c = plane(to, to_pitch, from, from_pitch, width, height);
	return rt_done(cuMemcpy2D_v2(&c));
}

API cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
		      int kind, void *stream)
{
	BEGIN;
	(void)kind;
	struct copy2d c = plane(to, to_pitch, from, from_pitch, width, height);
	return rt_done(cuMemcpy2DAsync_v2(&c, stream));
}

static int symbol(void **at, const void *host, size_t offset)
{
	int error = cudaGetSymbolAddress(at, host);
	*at = error ? NULL : (char *)*at + offset;
	return error;
}

API cudaMemcpyToSymbol(const void *to, const void *from, size_t n, size_t offset, int kind)
{
	BEGIN;
	(void)kind;
	void *at;
	int error = symbol(&at, to, offset);
	return error ? error : rt_done(cuMemcpy(at, from, n));
}

API cudaMemcpyToSymbolAsync(const void *to, const void *from, size_t n, size_t offset, int kind, void *stream)
{
	BEGIN;
	(void)kind;
	void *at;
	int error = symbol(&at, to, offset);
	return error ? error : rt_done(cuMemcpyAsync(at, from, n, stream));
}

API cudaMemcpyFromSymbol(void *to, const void *from, size_t n, size_t offset, int kind)
{
	BEGIN;
	(void)kind;
	void *at;
	int error = symbol(&at, from, offset);
	return error ? error : rt_done(cuMemcpy(to, at, n));
}

API cudaMemset(void *to, int value, size_t n)
{
	BEGIN;
	return n ? rt_done(cuMemsetD8_v2(to, (unsigned char)value, n)) : OK;
}

API cudaMemsetAsync(void *to, int value, size_t n, void *stream)
{
	BEGIN;
	return n ? rt_done(cuMemsetD8Async(to, (unsigned char)value, n, stream)) : OK;
}

API cudaMemsetAsync_ptsz(void *to, int value, size_t n, void *stream)
{
	BEGIN;
	return n ? rt_done(cuMemsetD8Async(to, (unsigned char)value, n, stream ? stream : (void *)2)) : OK;
}

API cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	BEGIN;
	return rt_done(cuMemsetD2D8_v2(to, pitch, (unsigned char)value, width, height));
}

API cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
	BEGIN;
	return rt_done(cuMemsetD2D8Async(to, pitch, (unsigned char)value, width, height, stream));
}

API cudaMallocAsync(void **p, size_t size, void *stream)
{
	BEGIN;
	return rt_done(cuMemAllocAsync(p, size, stream));
}

API cudaMallocFromPoolAsync(void **p, size_t size, void *pool, void *stream)
{
	BEGIN;
	return rt_done(cuMemAllocFromPoolAsync(p, size, pool, stream));
}

API cudaFreeAsync(void *p, void *stream)
{
	BEGIN;
	return p ? rt_done(cuMemFreeAsync(p, stream)) : OK;
}

API cudaMemPoolCreate(void **pool, const void *props)
{
	BEGIN;
	return rt_done(cuMemPoolCreate(pool, props));
}

API cudaMemPoolDestroy(void *pool)
{
	BEGIN;
	return rt_done(cuMemPoolDestroy(pool));
}

API cudaMemPoolSetAttribute(void *pool, int which, void *value)
{
	BEGIN;
	return rt_done(cuMemPoolSetAttribute(pool, which, value));
}

API cudaMemPoolGetAttribute(void *pool, int which, void *value)
{
	BEGIN;
	return rt_done(cuMemPoolGetAttribute(pool, which, value));
}

API cudaMemPoolSetAccess(void *pool, const void *access, size_t n)
{
	BEGIN;
	return rt_done(cuMemPoolSetAccess(pool, access, n));
}

API cudaMemPoolTrimTo(void *pool, size_t keep)
{
	BEGIN;
	return rt_done(cuMemPoolTrimTo(pool, keep));
}
