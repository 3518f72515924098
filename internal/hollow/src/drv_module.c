/* Driver: modules, libraries, kernels and their launches. Images are not read: every requested
 * name is found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

struct module {
	char magic[8];
};

struct func *func_new(const char *name, void *module)
{
	struct func *f = calloc(1, sizeof *f);
	f->name = strdup(name);
	f->module = module;
	f->launched = hollow_row(ROW_LAUNCHED, name);
	f->executed = hollow_row(ROW_EXECUTED, name);
	return f;
}

void *hollow_kernel(const char *name)
{
	static struct func **table; /* open addressing; never shrinks */
	static size_t room, used;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (used * 2 >= room) {
		size_t bigger = room ? room * 2 : 1024;
		struct func **t = calloc(bigger, sizeof *t);
		for (size_t i = 0; i < room; i++) {
			if (!table[i])
				continue;
			size_t at = table[i]->launched->hash;
			while (t[at % bigger])
				at++;
			t[at % bigger] = table[i];
		}
		free(table);
		table = t;
		room = bigger;
	}
	struct row *row = hollow_row(ROW_LAUNCHED, name);
	size_t at = row->hash;
	while (table[at % room] && strcmp(table[at % room]->name, name))
		at++;
	struct func *f = table[at % room];
	if (!f) {
		f = table[at % room] = func_new(name, NULL);
		used++;
	}
	pthread_mutex_unlock(&lock);
	return f;
}

static int load(void **module)
{
	*module = calloc(1, sizeof(struct module));
	hollow_busy(settings()->alloc_ns);
	return OK;
}

API cuModuleLoad(void **module, const char *file)
{
	HIT;
	(void)file;
	return load(module);
}

API cuModuleLoadData(void **module, const void *image)
{
	HIT;
	return image ? load(module) : INVALID_VALUE;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values)
{
	HIT;
	(void)n, (void)options, (void)values;
	return image ? load(module) : INVALID_VALUE;
}

API cuModuleLoadFatBinary(void **module, const void *image)
{
	HIT;
	return image ? load(module) : INVALID_VALUE;
}

API cuModuleUnload(void *module)
{
	HIT;
	free(module);
	return OK;
}

API cuModuleGetLoadingMode(int *mode)
{
	HIT;
	*mode = 2; /* lazy */
	return OK;
}

API cuModuleGetFunction(void **f, void *module, const char *name)
{
	HIT;
	(void)module;
	*f = hollow_kernel(name);
	return OK;
}

static int global(void **p, size_t *size)
{
	enum { SIZE = 4096 };
	if (size)
		*size = SIZE;
	return p ? memory_take(SIZE, RANGE_DEVICE, 0, p) : OK;
}

API cuModuleGetGlobal_v2(void **p, size_t *size, void *module, const char *name)
{
	HIT;
	(void)module, (void)name;
	return global(p, size);
}

API cuLibraryLoadData(void **library, const void *code, int *jit, void **jit_values, unsigned njit, int *options,
		      void **values, unsigned n)
{
	HIT;
	(void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	return code ? load(library) : INVALID_VALUE;
}

API cuLibraryUnload(void *library)
{
	HIT;
	free(library);
	return OK;
}

API cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
	HIT;
	(void)library;
	*kernel = hollow_kernel(name);
	return OK;
}

API cuLibraryGetModule(void **module, void *library)
{
	HIT;
	*module = library;
	return OK;
}

API cuLibraryGetGlobal(void **p, size_t *size, void *library, const char *name)
{
	HIT;
	(void)library, (void)name;
	return global(p, size);
}

API cuKernelGetFunction(void **f, void *kernel)
{
	HIT;
	*f = kernel;
	return kernel ? OK : INVALID_HANDLE;
}

API cuKernelGetName(const char **name, struct func *f)
{
	HIT;
	*name = f->name;
	return OK;
}

API cuFuncGetName(const char **name, struct func *f)
{
	HIT;
	*name = f->name;
	return OK;
}

API cuFuncGetModule(void **module, struct func *f)
{
	HIT;
	*module = f->module;
	return OK;
}

static int attribute(int *value, int which, const struct func *f)
{
	static const int values[] = {1024, 0, 0, 0, 32, 0, 0, 0, 0, -1}; /* threads, shared, const, local, registers */
	*value = which >= 0 && which < 10 ? values[which] : 0;
	if (which == 5 || which == 6)
		*value = settings()->sm; /* PTX and binary version */
	if (which == 8)
		*value = f->dynamic_shared ? f->dynamic_shared : 49152;
	return OK;
}

API cuFuncGetAttribute(int *value, int which, struct func *f)
{
	HIT;
	return f ? attribute(value, which, f) : INVALID_HANDLE;
}

API cuKernelGetAttribute(int *value, int which, struct func *f, int device)
{
	HIT;
	(void)device;
	return f ? attribute(value, which, f) : INVALID_HANDLE;
}

API cuFuncSetAttribute(struct func *f, int which, int value)
{
	HIT;
	if (!f)
		return INVALID_HANDLE;
	if (which == 8)
		f->dynamic_shared = value;
	return OK;
}

API cuKernelSetAttribute(int which, int value, struct func *f, int device)
{
	HIT;
	(void)device;
	if (f && which == 8)
		f->dynamic_shared = value;
	return f ? OK : INVALID_HANDLE;
}

API cuFuncSetCacheConfig(struct func *f, int config)
{
	HIT;
	(void)config;
	return f ? OK : INVALID_HANDLE;
}

API cuKernelSetCacheConfig(struct func *f, int config, int device)
{
	HIT;
	(void)config, (void)device;
	return f ? OK : INVALID_HANDLE;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct func *f, int threads, size_t shared)
{
	HIT;
	(void)f, (void)shared;
	*blocks = threads > 0 && threads <= 1024 ? 1536 / threads : 0;
	return OK;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, struct func *f, int threads, size_t shared,
							 unsigned flags)
{
	HIT;
	(void)f, (void)shared, (void)flags;
	*blocks = threads > 0 && threads <= 1024 ? 1536 / threads : 0;
	return OK;
}

API cuOccupancyMaxPotentialBlockSize(int *grid, int *block, struct func *f, void *shared_of, size_t shared, int limit)
{
	HIT;
	(void)f, (void)shared_of, (void)shared;
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = 128;
	return OK;
}

API cuOccupancyMaxActiveClusters(int *clusters, struct func *f, const void *config)
{
	HIT;
	(void)f, (void)config;
	*clusters = 16;
	return OK;
}

static int launch(struct func *f, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
		  void **params)
{
	struct stream *s = stream_of(stream);
	if (!f || !s)
		return INVALID_HANDLE;
	if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
	    (uint64_t)block[0] * block[1] * block[2] > 1024)
		return INVALID_VALUE;
	hollow_add(f->launched, 1);
	if (!__atomic_exchange_n(&f->loaded, true, __ATOMIC_RELAXED))
		hollow_busy(settings()->load_ns);
	hollow_busy(settings()->launch_ns);
	pthread_mutex_lock(&engine);
	if (s->capture) {
		struct node *n = capture_add(s, NODE_KERNEL);
		n->func = f;
		memcpy(n->grid, grid, sizeof n->grid);
		memcpy(n->block, block, sizeof n->block);
		n->shared = shared;
		n->params = params;
		pthread_mutex_unlock(&engine);
		return OK;
	}
	stream_run(s, f, 0);
	pthread_mutex_unlock(&engine);
	throttle(s);
	return OK;
}

API cuLaunchKernel(struct func *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra)
{
	HIT;
	(void)extra;
	return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, params);
}

API cuLaunchKernel_ptsz(struct func *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shared, void *stream, void **params, void **extra)
{
	HIT;
	(void)extra;
	return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream ? stream : (void *)2, params);
}

API cuLaunchCooperativeKernel(struct func *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			      unsigned bz, unsigned shared, void *stream, void **params)
{
	HIT;
	return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, params);
}

struct launch_config { /* CUlaunchConfig */
	unsigned grid[3], block[3], shared;
	void *stream, *attributes;
	unsigned count;
};

API cuLaunchKernelEx(const struct launch_config *c, struct func *f, void **params, void **extra)
{
	HIT;
	(void)extra;
	return launch(f, c->grid, c->block, c->shared, c->stream, params);
}

API cuLaunchKernelEx_ptsz(const struct launch_config *c, struct func *f, void **params, void **extra)
{
	HIT;
	(void)extra;
	return launch(f, c->grid, c->block, c->shared, c->stream ? c->stream : (void *)2, params);
}

API cuLaunchHostFunc(void *stream, void (*fn)(void *), void *arg)
{
	HIT;
	struct stream *s = stream_of(stream);
	pthread_mutex_lock(&engine);
	if (s->capture) {
		struct node *n = capture_add(s, NODE_HOST);
		n->host = fn;
		n->arg = arg;
	} else {
		stream_host(s, fn, arg);
	}
	pthread_mutex_unlock(&engine);
	return OK;
}
