/* Runtime: registered kernels and their launches. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

DRIVER(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
       void **);
DRIVER(cuLaunchKernel_ptsz, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
       void **, void **);
DRIVER(cuLaunchCooperativeKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
       void **);
DRIVER(cuLaunchKernelEx, const void *, void *, void **, void **);
DRIVER(cuLaunchKernelEx_ptsz, const void *, void *, void **, void **);
DRIVER(cuLaunchHostFunc, void *, void (*)(void *), void *);
DRIVER(cuFuncGetAttribute, int *, int, void *);
DRIVER(cuFuncSetAttribute, void *, int, int);
DRIVER(cuFuncGetName, const char **, void *);
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *, void *, int, size_t, unsigned);
DRIVER(cuOccupancyMaxActiveClusters, int *, void *, const void *);
DRIVER(cuGetProcAddress_v2, const char *, void **, int, uint64_t, int *);
DRIVER(cuMemAlloc_v2, void **, size_t);
DRIVER(cuLibraryLoadData, void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
DRIVER(cuLibraryGetKernel, void **, void *, const char *);
DRIVER(cuLibraryUnload, void *);

/* Host stubs, and the variables' host addresses, by address: open addressing. */
struct entry {
	const void *host;
	const char *name;
	void *kernel; /* made at first use; of a variable: its memory */
	size_t size;  /* of a variable */
};

static struct entry *table;
static size_t room, used;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static struct entry *slot(struct entry *t, size_t n, const void *host)
{
	size_t at = (size_t)(((uint64_t)(uintptr_t)host * 0x9e3779b97f4a7c15ull) >> 20) & (n - 1);
	while (t[at].host && t[at].host != host)
		at = (at + 1) & (n - 1);
	return &t[at];
}

static void enter(const void *host, const char *name, size_t size)
{
	pthread_rwlock_wrlock(&lock);
	if (used * 2 >= room) {
		size_t bigger = room ? room * 2 : 4096;
		struct entry *t = calloc(bigger, sizeof *t);
		for (size_t i = 0; i < room; i++)
			if (table[i].host)
				*slot(t, bigger, table[i].host) = table[i];
		free(table);
		table = t;
		room = bigger;
	}
	struct entry *e = slot(table, room, host);
	used += !e->host;
	*e = (struct entry){.host = host, .name = name, .size = size};
	pthread_rwlock_unlock(&lock);
}

/* A copy, because a later registration moves the table. */
static bool look(const void *host, struct entry *out)
{
	pthread_rwlock_rdlock(&lock);
	struct entry *e = room ? slot(table, room, host) : NULL;
	bool found = e && e->host;
	if (found)
		*out = *e;
	pthread_rwlock_unlock(&lock);
	return found;
}

static void keep(const void *host, void *value)
{
	pthread_rwlock_wrlock(&lock);
	slot(table, room, host)->kernel = value;
	pthread_rwlock_unlock(&lock);
}

void *rt_kernel(const void *host)
{
	struct entry e;
	if (!look(host, &e))
		return NULL;
	if (!e.kernel)
		keep(host, e.kernel = hollow_kernel(e.name));
	return e.kernel;
}

API_OF(void **) __cudaRegisterFatBinary(void *image)
{
	HIT;
	void **handle = calloc(1, sizeof *handle);
	*handle = image;
	return handle;
}

API_OF(void) __cudaRegisterFatBinaryEnd(void **handle)
{
	HIT;
	(void)handle;
}

API_OF(void) __cudaUnregisterFatBinary(void **handle)
{
	HIT;
	free(handle);
}

API_OF(void) __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int limit,
				    void *tid, void *bid, void *block, void *grid, int *warp)
{
	HIT;
	(void)handle, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	enter(host, name, 0);
}

API_OF(void) __cudaRegisterVar(void **handle, const void *host, char *device, const char *name, int ext, size_t size,
			       int constant, int global)
{
	HIT;
	(void)handle, (void)device, (void)ext, (void)constant, (void)global;
	enter(host, name, size ? size : 1);
}

API_OF(void) __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
				      int constant, int global)
{
	HIT;
	(void)handle, (void)device, (void)name, (void)ext, (void)constant, (void)global;
	*host = calloc(1, size);
}

API_OF(char) __cudaInitModule(void **handle)
{
	HIT;
	(void)handle;
	return 1;
}

API cudaGetSymbolAddress(void **at, const void *host)
{
	BEGIN;
	struct entry e;
	if (!look(host, &e) || !e.size)
		return rt_done(13); /* cudaErrorInvalidSymbol */
	if (!e.kernel) {
		int error = cuMemAlloc_v2(&e.kernel, e.size);
		if (error)
			return rt_done(error);
		keep(host, e.kernel);
	}
	*at = e.kernel;
	return OK;
}

API cudaGetSymbolSize(size_t *size, const void *host)
{
	HIT;
	struct entry e;
	if (!look(host, &e) || !e.size)
		return rt_done(13);
	*size = e.size;
	return OK;
}

/* The configuration of <<<>>>, per thread, nested. */
static __thread struct config {
	dim grid, block;
	size_t shared;
	void *stream;
} pushed[16];
static __thread unsigned depth;

API_OF(unsigned) __cudaPushCallConfiguration(dim grid, dim block, size_t shared, void *stream)
{
	HIT;
	if (depth == 16)
		return 1;
	pushed[depth++] = (struct config){grid, block, shared, stream};
	return 0;
}

API __cudaPopCallConfiguration(dim *grid, dim *block, size_t *shared, void **stream)
{
	HIT;
	if (!depth)
		return 52; /* cudaErrorMissingConfiguration */
	struct config *c = &pushed[--depth];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*stream = c->stream;
	return OK;
}

#define SHAPE grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared

static int launch(void *kernel, dim grid, dim block, void **args, size_t shared, void *stream)
{
	if (!kernel)
		return rt_done(INVALID_DEVICE_FUNCTION);
	return rt_done(cuLaunchKernel(kernel, SHAPE, stream, args, NULL));
}

static int launch_ptsz(void *kernel, dim grid, dim block, void **args, size_t shared, void *stream)
{
	if (!kernel)
		return rt_done(INVALID_DEVICE_FUNCTION);
	return rt_done(cuLaunchKernel_ptsz(kernel, SHAPE, stream, args, NULL));
}

/* The kernel of a host stub, or of a cudaKernel_t, which the real function accepts, too. */
static void *either(const void *f)
{
	void *kernel = rt_kernel(f);
	return kernel ? kernel : (void *)f;
}

API cudaLaunchKernel(const void *host, dim grid, dim block, void **args, size_t shared, void *stream)
{
	BEGIN;
	return launch(rt_kernel(host), grid, block, args, shared, stream);
}

API cudaLaunchKernel_ptsz(const void *host, dim grid, dim block, void **args, size_t shared, void *stream)
{
	BEGIN;
	return launch_ptsz(rt_kernel(host), grid, block, args, shared, stream);
}

/* The handle is the host function itself, as in NVIDIA's libcudart 13.0.96, where
 * __cudaLaunchKernel is a jump to cudaLaunchKernel. */
API __cudaGetKernel(void **kernel, const void *host)
{
	BEGIN;
	*kernel = rt_kernel(host) ? (void *)host : NULL;
	return *kernel ? OK : rt_done(INVALID_DEVICE_FUNCTION);
}

API cudaGetKernel(void **kernel, const void *host)
{
	BEGIN;
	*kernel = rt_kernel(host);
	return *kernel ? OK : rt_done(INVALID_DEVICE_FUNCTION);
}

API __cudaLaunchKernel(void *kernel, dim grid, dim block, void **args, size_t shared, void *stream)
{
	BEGIN;
	return launch(either(kernel), grid, block, args, shared, stream);
}

API __cudaLaunchKernel_ptsz(void *kernel, dim grid, dim block, void **args, size_t shared, void *stream)
{
	BEGIN;
	return launch_ptsz(either(kernel), grid, block, args, shared, stream);
}

API cudaLaunchCooperativeKernel(const void *host, dim grid, dim block, void **args, size_t shared, void *stream)
{
	BEGIN;
	void *kernel = rt_kernel(host);
	if (!kernel)
		return rt_done(INVALID_DEVICE_FUNCTION);
	return rt_done(cuLaunchCooperativeKernel(kernel, SHAPE, stream, args));
}

struct config_ex { /* cudaLaunchConfig_t */
	dim grid, block;
	size_t shared;
	void *stream, *attributes;
	unsigned count;
};

struct driver_config { /* CUlaunchConfig */
	dim grid, block;
	unsigned shared;
	void *stream, *attributes;
	unsigned count;
};

static struct driver_config converted(const struct config_ex *c)
{
	return (struct driver_config){c->grid, c->block, (unsigned)c->shared, c->stream, c->attributes, c->count};
}

API cudaLaunchKernelExC(const struct config_ex *c, const void *f, void **args)
{
	BEGIN;
	struct driver_config d = converted(c);
	return f ? rt_done(cuLaunchKernelEx(&d, either(f), args, NULL)) : rt_done(INVALID_DEVICE_FUNCTION);
}

API cudaLaunchKernelExC_ptsz(const struct config_ex *c, const void *f, void **args)
{
	BEGIN;
	struct driver_config d = converted(c);
	return f ? rt_done(cuLaunchKernelEx_ptsz(&d, either(f), args, NULL)) : rt_done(INVALID_DEVICE_FUNCTION);
}

API cudaLaunchHostFunc(void *stream, void (*fn)(void *), void *arg)
{
	BEGIN;
	return rt_done(cuLaunchHostFunc(stream, fn, arg));
}

struct attributes { /* cudaFuncAttributes, up to its reserved fields */
	size_t shared, constant, local;
	int threads, registers, ptx, binary, cache, dynamic_shared, carveout;
	int rest[22];
};

API cudaFuncGetAttributes(struct attributes *a, const void *f)
{
	BEGIN;
	if (!f)
		return rt_done(INVALID_DEVICE_FUNCTION);
	int v;
	*a = (struct attributes){.carveout = -1};
	void *kernel = either(f);
	cuFuncGetAttribute(&a->threads, 0, kernel);
	cuFuncGetAttribute(&a->registers, 4, kernel);
	cuFuncGetAttribute(&a->ptx, 5, kernel);
	cuFuncGetAttribute(&a->binary, 6, kernel);
	cuFuncGetAttribute(&a->dynamic_shared, 8, kernel);
	if (!cuFuncGetAttribute(&v, 1, kernel))
		a->shared = (size_t)v;
	return OK;
}

API cudaFuncSetAttribute(const void *f, int which, int value)
{
	BEGIN;
	return f ? rt_done(cuFuncSetAttribute(either(f), which, value)) : rt_done(INVALID_DEVICE_FUNCTION);
}

API cudaFuncSetCacheConfig(const void *f, int config)
{
	HIT;
	(void)f, (void)config;
	return OK;
}

API cudaFuncGetName(const char **name, const void *f)
{
	BEGIN;
	return rt_done(cuFuncGetName(name, either(f)));
}

API cudaGetFuncBySymbol(void **function, const void *f)
{
	BEGIN;
	*function = rt_kernel(f);
	return *function ? OK : rt_done(INVALID_DEVICE_FUNCTION);
}

API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int threads, size_t shared,
							   unsigned flags)
{
	BEGIN;
	return rt_done(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, either(f), threads, shared, flags));
}

API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int threads, size_t shared)
{
	BEGIN;
	return rt_done(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, either(f), threads, shared, 0));
}

API cudaOccupancyMaxActiveClusters(int *n, const void *f, const struct config_ex *c)
{
	BEGIN;
	struct driver_config d = converted(c);
	return rt_done(cuOccupancyMaxActiveClusters(n, either(f), &d));
}

static int entry_point(const char *name, void **f, int version, uint64_t flags, int *status)
{
	int found, error = cuGetProcAddress_v2(name, f, version, flags, &found);
	if (status)
		*status = found;
	return error == 500 ? OK : rt_done(error); /* "not found" is reported by the status */
}

API cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags, int *status)
{
	HIT;
	return entry_point(name, f, CUDART == 12 ? 12080 : 13000, flags, status);
}

API cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned version, unsigned long long flags, int *status)
{
	HIT;
	return entry_point(name, f, (int)version, flags, status);
}

API cudaLibraryLoadData(void **library, const void *code, int *jit, void **jit_values, unsigned njit, int *options,
			void **values, unsigned n)
{
	BEGIN;
	return rt_done(cuLibraryLoadData(library, code, jit, jit_values, njit, options, values, n));
}

API cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
	BEGIN;
	return rt_done(cuLibraryGetKernel(kernel, library, name));
}

API cudaLibraryUnload(void *library)
{
	BEGIN;
	return rt_done(cuLibraryUnload(library));
}
