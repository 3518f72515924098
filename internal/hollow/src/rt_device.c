/* Runtime: devices, errors, versions. */
#include <stdio.h>
#include <string.h>

#include "rt.h"

DRIVER(cuInit, unsigned);
DRIVER(cuDeviceGetCount, int *);
DRIVER(cuDeviceGetAttribute, int *, int, int);
DRIVER(cuDeviceGetName, char *, int, int);
DRIVER(cuDeviceGetUuid_v2, void *, int);
DRIVER(cuDeviceTotalMem_v2, size_t *, int);
DRIVER(cuDeviceGetPCIBusId, char *, int, int);
DRIVER(cuDeviceGetByPCIBusId, int *, const char *);
DRIVER(cuDeviceCanAccessPeer, int *, int, int);
DRIVER(cuDeviceGetP2PAttribute, int *, int, int, int);
DRIVER(cuDevicePrimaryCtxRetain, void **, int);
DRIVER(cuDevicePrimaryCtxSetFlags_v2, int, unsigned);
DRIVER(cuDevicePrimaryCtxGetState, int, unsigned *, int *);
DRIVER(cuDevicePrimaryCtxReset_v2, int);
DRIVER(cuCtxGetCurrent, void **);
DRIVER(cuCtxSetCurrent, void *);
DRIVER(cuCtxSynchronize, void);
DRIVER(cuCtxGetLimit, size_t *, int);
DRIVER(cuCtxSetLimit, int, size_t);
DRIVER(cuCtxGetStreamPriorityRange, int *, int *);
DRIVER(cuDriverGetVersion, int *);
DRIVER(cuGetErrorString, int, const char **);
DRIVER(cuGetErrorName, int, const char **);
DRIVER(cuDeviceGetDefaultMemPool, void **, int);
DRIVER(cuDeviceGetMemPool, void **, int);
DRIVER(cuDeviceSetMemPool, int, void *);
DRIVER(cuCtxEnablePeerAccess, void *, unsigned);

static __thread int last_error, device;
static __thread bool bound;
static bool ready;

void rt_begin(void)
{
	void *ctx;
	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
		cuInit(0);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	if (bound)
		return;
	bound = true;
	cuCtxGetCurrent(&ctx);
	if (!ctx && !cuDevicePrimaryCtxRetain(&ctx, device))
		cuCtxSetCurrent(ctx);
}

int rt_done(int error)
{
	if (error && error != NOT_READY)
		last_error = error;
	return error;
}

API cudaGetDeviceCount(int *n)
{
	HIT;
	int error = cuInit(0);
	return rt_done(error ? error : cuDeviceGetCount(n));
}

API cudaSetDevice(int which)
{
	HIT;
	void *ctx;
	cuInit(0);
	int error = cuDevicePrimaryCtxRetain(&ctx, which);
	if (error)
		return rt_done(error);
	device = which;
	bound = true;
	return rt_done(cuCtxSetCurrent(ctx));
}

API cudaInitDevice(int which, unsigned device_flags, unsigned flags)
{
	HIT;
	(void)device_flags, (void)flags;
	void *ctx;
	return rt_done(cuDevicePrimaryCtxRetain(&ctx, which));
}

API cudaGetDevice(int *which)
{
	HIT;
	*which = device;
	return OK;
}

API cudaSetDeviceFlags(unsigned flags)
{
	HIT;
	return rt_done(cuDevicePrimaryCtxSetFlags_v2(device, flags));
}

API cudaGetDeviceFlags(unsigned *flags)
{
	HIT;
	int active;
	return rt_done(cuDevicePrimaryCtxGetState(device, flags, &active));
}

API cudaDeviceReset(void)
{
	BEGIN;
	cuCtxSynchronize();
	return rt_done(cuDevicePrimaryCtxReset_v2(device));
}

API cudaDeviceSynchronize(void)
{
	BEGIN;
	return rt_done(cuCtxSynchronize());
}

API cudaDeviceGetAttribute(int *value, int which, int of)
{
	HIT;
	cuInit(0);
	return rt_done(cuDeviceGetAttribute(value, which, of));
}

API cudaDeviceGetPCIBusId(char *id, int size, int of)
{
	HIT;
	return rt_done(cuDeviceGetPCIBusId(id, size, of));
}

API cudaDeviceGetByPCIBusId(int *of, const char *id)
{
	HIT;
	return rt_done(cuDeviceGetByPCIBusId(of, id));
}

API cudaDeviceCanAccessPeer(int *can, int of, int peer)
{
	HIT;
	return rt_done(cuDeviceCanAccessPeer(can, of, peer));
}

API cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	HIT;
	void *ctx;
	int error = cuDevicePrimaryCtxRetain(&ctx, peer);
	return rt_done(error ? error : cuCtxEnablePeerAccess(ctx, flags));
}

API cudaDeviceDisablePeerAccess(int peer)
{
	HIT;
	(void)peer;
	return OK;
}

API cudaDeviceGetP2PAttribute(int *value, int which, int from, int to)
{
	HIT;
	return rt_done(cuDeviceGetP2PAttribute(value, which, from, to));
}

API cudaDeviceGetLimit(size_t *value, int which)
{
	BEGIN;
	return rt_done(cuCtxGetLimit(value, which));
}

API cudaDeviceSetLimit(int which, size_t value)
{
	BEGIN;
	return rt_done(cuCtxSetLimit(which, value));
}

API cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	BEGIN;
	return rt_done(cuCtxGetStreamPriorityRange(least, greatest));
}

API cudaDeviceGetDefaultMemPool(void **pool, int of)
{
	BEGIN;
	return rt_done(cuDeviceGetDefaultMemPool(pool, of));
}

API cudaDeviceGetMemPool(void **pool, int of)
{
	BEGIN;
	return rt_done(cuDeviceGetMemPool(pool, of));
}

API cudaDeviceSetMemPool(int of, void *pool)
{
	BEGIN;
	return rt_done(cuDeviceSetMemPool(of, pool));
}

/* Where the fields of cudaDeviceProp are, in bytes, in CUDA 12 and 13 (driver_types.h of
 * 12.8 and 13.0), and the driver's attribute that fills them; -1: there is no such field. */
static const struct {
	short at12, at13, attribute;
	char size;
} fields[] = {
	{296, 296, 8, 8},   {304, 304, 12, 4},	{308, 308, 10, 4},  {312, 312, 11, 8},	{320, 320, 1, 4},
	{324, 324, 2, 4},   {328, 328, 3, 4},	{332, 332, 4, 4},   {336, 336, 5, 4},	{340, 340, 6, 4},
	{344, 344, 7, 4},   {352, 352, 9, 8},	{360, 360, 75, 4},  {364, 364, 76, 4},	{368, 368, 14, 8},
	{376, 376, 51, 8},  {388, 384, 16, 4},	{396, 388, 18, 4},  {400, 392, 19, 4},	{576, 560, 31, 4},
	{580, 564, 32, 4},  {584, 568, 33, 4},	{588, 572, 34, 4},  {592, 576, 50, 4},	{600, 584, 40, 4},
	{604, 588, 41, 4},  {612, 592, 37, 4},	{616, 596, 38, 4},  {620, 600, 108, 4}, {624, 604, 39, 4},
	{628, 608, 78, 4},  {640, 624, 81, 8},	{648, 632, 82, 4},  {652, 636, 83, 4},	{672, 652, 88, 4},
	{676, 656, 89, 4},  {680, 660, 90, 4},	{684, 664, 91, 4},  {688, 668, 95, 4},	{696, 672, 97, 8},
	{712, 688, 106, 4}, {720, 696, 111, 8}, {728, 704, 99, 4},  {744, 720, 115, 4}, {772, 748, 120, 4},
	{776, 752, 129, 4}, {348, -1, 13, 4},	{608, -1, 36, 4},   {404, -1, 20, 4},	{384, -1, 15, 4},
};

enum { PROPERTIES_12 = 1032, PROPERTIES_13 = 1008, UUID_AT = 256, MEMORY_AT = 288 };

static int properties(char *p, int of)
{
	cuInit(0);
	memset(p, 0, CUDART == 12 ? PROPERTIES_12 : PROPERTIES_13);
	int error = cuDeviceGetName(p, UUID_AT, of);
	if (error)
		return rt_done(error);
	cuDeviceGetUuid_v2(p + UUID_AT, of);
	cuDeviceTotalMem_v2((size_t *)(p + MEMORY_AT), of);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		int at = CUDART == 12 ? fields[i].at12 : fields[i].at13, value = 0;
		if (at < 0)
			continue;
		cuDeviceGetAttribute(&value, fields[i].attribute, of);
		int64_t wide = value;
		memcpy(p + at, &wide, (size_t)fields[i].size);
	}
	return OK;
}

/* In 12 the name without a number is that of CUDA 11, with a smaller structure: only its
 * first fields are written. */
API cudaGetDeviceProperties(char *p, int of)
{
	HIT;
	if (CUDART == 13)
		return properties(p, of);
	char full[PROPERTIES_12];
	int error = properties(full, of);
	memcpy(p, full, 648); /* up to regsPerMultiprocessor, which is where it was in 11 */
	return error;
}

API cudaGetDeviceProperties_v2(char *p, int of)
{
	HIT;
	return properties(p, of);
}

API cudaChooseDevice(int *which, const void *prop)
{
	HIT;
	(void)prop;
	*which = 0;
	return OK;
}

API cudaDriverGetVersion(int *version)
{
	HIT;
	return rt_done(cuDriverGetVersion(version));
}

API cudaRuntimeGetVersion(int *version)
{
	HIT;
	*version = CUDART == 12 ? 12080 : 13000;
	return OK;
}

API cudaGetLastError(void)
{
	HIT;
	int error = last_error;
	last_error = 0;
	return error;
}

API cudaPeekAtLastError(void)
{
	HIT;
	return last_error;
}

API_OF(const char *) cudaGetErrorString(int error)
{
	HIT;
	const char *text;
	if (error == INVALID_DEVICE_FUNCTION)
		return "invalid device function";
	return cuGetErrorString(error, &text) ? "unrecognized error code" : text;
}

API_OF(const char *) cudaGetErrorName(int error)
{
	HIT;
	const char *name;
	if (error == INVALID_DEVICE_FUNCTION)
		return "cudaErrorInvalidDeviceFunction";
	return cuGetErrorName(error, &name) ? "unrecognized error code" : name;
}

API cudaProfilerStart(void)
{
	HIT;
	return OK;
}

API cudaProfilerStop(void)
{
	HIT;
	return OK;
}

API cudaCtxResetPersistingL2Cache(void)
{
	HIT;
	return OK;
}
