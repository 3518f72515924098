/* Driver: devices and contexts. There is one context per device, the primary one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { VERSION = 13000 };

static __thread struct device *current, *stack[16];
static __thread int depth;

/* A row of what cuDeviceGetAttribute answers; sm90 counts for device.sm of 90 and above. */
static const struct {
	int attribute, sm89, sm90;
} attributes[] = {
	{1, 1024, 1024},   {2, 1024, 1024},	{3, 1024, 1024},      {4, 64, 64},	   {5, 2147483647, 2147483647},
	{6, 65535, 65535}, {7, 65535, 65535},	{8, 49152, 49152},    {9, 65536, 65536},   {10, 32, 32},
	{11, 2147483647, 2147483647},		{12, 65536, 65536},   {13, 2520000, 1980000},
	{14, 512, 512},	   {15, 1, 1},		{16, 128, 132},	      {19, 1, 1},	   {23, 32, 32},
	{31, 1, 1},	   {36, 10501000, 2619000},		      {37, 384, 5120},	   {38, 75497472, 52428800},
	{39, 1536, 2048},  {40, 2, 3},		{41, 1, 1},	      {51, 32, 32},	   {78, 1, 1},
	{79, 1, 1},	   {80, 1, 1},		{81, 102400, 233472}, {82, 65536, 65536},  {83, 1, 1},
	{87, 64, 2},	   {89, 1, 1},		{90, 1, 1},	      {91, 1, 1},	   {95, 1, 1},
	{97, 101376, 232448},			{99, 1, 1},	      {102, 1, 1},	   {103, 1, 1},
	{106, 24, 32},	   {108, 0, 0},		{111, 1024, 1024},    {114, 1, 1},	   {115, 1, 1},
	{119, 1, 1},	   {120, 0, 1},		{121, 1, 1},	      {122, 1, 1},	   {123, 1, 1},
	{125, 1, 1},	   {127, 0, 1},		{129, 1, 1},
};

static bool known(int device)
{
	return device >= 0 && device < device_count();
}

int hollow_devices(void)
{
	return device_count();
}

uint64_t hollow_memory(void)
{
	return settings()->memory;
}

uint64_t hollow_used(int device)
{
	return known(device) ? __atomic_load_n(&devices[device].used, __ATOMIC_RELAXED) : 0;
}

void hollow_name(int device, char *to, size_t size)
{
	(void)device; /* all are alike */
	snprintf(to, size, "Hollow GPU sm_%d", settings()->sm);
}

void hollow_uuid(int device, unsigned char to[16])
{
	memcpy(to, "hollow GPU no. ", 15);
	to[15] = (unsigned char)('0' + device);
}

API cuInit(unsigned flags)
{
	HIT;
	if (flags)
		return INVALID_VALUE;
	for (int i = 0; i < MAX_DEVICES; i++)
		devices[i].index = i;
	return device_count() ? OK : 100;
}

API cuDriverGetVersion(int *version)
{
	HIT;
	*version = VERSION;
	return OK;
}

API cuDeviceGet(int *device, int ordinal)
{
	HIT;
	if (!known(ordinal))
		return INVALID_DEVICE;
	*device = ordinal;
	return OK;
}

API cuDeviceGetCount(int *n)
{
	HIT;
	*n = device_count();
	return OK;
}

API cuDeviceGetName(char *name, int size, int device)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	hollow_name(device, name, (size_t)size);
	return OK;
}

API cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	hollow_uuid(device, uuid);
	return OK;
}

API cuDeviceGetUuid(unsigned char *uuid, int device)
{
	HIT;
	return cuDeviceGetUuid_v2(uuid, device);
}

API cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	*bytes = settings()->memory;
	return OK;
}

API cuDeviceGetAttribute(int *value, int attribute, int device)
{
	HIT;
	int sm = settings()->sm;
	if (!known(device))
		return INVALID_DEVICE;
	*value = 0;
	switch (attribute) {
	case 33:
		*value = device + 1; /* PCI bus */
		return OK;
	case 75:
		*value = sm / 10;
		return OK;
	case 76:
		*value = sm % 10;
		return OK;
	}
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (attributes[i].attribute == attribute)
			*value = sm >= 90 ? attributes[i].sm90 : attributes[i].sm89;
	return OK;
}

API cuDeviceComputeCapability(int *major, int *minor, int device)
{
	HIT;
	*major = settings()->sm / 10;
	*minor = settings()->sm % 10;
	return known(device) ? OK : INVALID_DEVICE;
}

API cuDeviceGetPCIBusId(char *id, int size, int device)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	snprintf(id, (size_t)size, "0000:%02X:00.0", device + 1);
	return OK;
}

API cuDeviceGetByPCIBusId(int *device, const char *id)
{
	HIT;
	unsigned domain, bus;
	if (sscanf(id, "%x:%x", &domain, &bus) != 2 || !known((int)bus - 1))
		return INVALID_DEVICE;
	*device = (int)bus - 1;
	return OK;
}

API cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	HIT;
	*can = device != peer && known(device) && known(peer);
	return OK;
}

API cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	HIT;
	*value = attribute == 1 ? 0 : from != to; /* 1: performance rank, 0 is best */
	return OK;
}

static void enter(struct device *d)
{
	current = d;
	if (d)
		thread_device = d->index;
}

API cuDevicePrimaryCtxRetain(void **ctx, int device)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	devices[device].index = device;
	devices[device].active = true;
	*ctx = &devices[device];
	return OK;
}

API cuDevicePrimaryCtxRelease_v2(int device)
{
	HIT;
	return known(device) ? OK : INVALID_DEVICE;
}

API cuDevicePrimaryCtxReset_v2(int device)
{
	HIT;
	return known(device) ? OK : INVALID_DEVICE;
}

API cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	devices[device].flags = flags;
	return OK;
}

API cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	HIT;
	if (!known(device))
		return INVALID_DEVICE;
	*flags = devices[device].flags;
	*active = devices[device].active;
	return OK;
}

static int create(void **ctx, unsigned flags, int device)
{
	if (!known(device))
		return INVALID_DEVICE;
	devices[device].index = device;
	devices[device].flags = flags;
	devices[device].active = true;
	*ctx = &devices[device];
	if (depth < 16)
		stack[depth++] = current;
	enter(*ctx);
	return OK;
}

API cuCtxCreate_v2(void **ctx, unsigned flags, int device)
{
	HIT;
	return create(ctx, flags, device);
}

API cuCtxCreate_v4(void **ctx, void *params, unsigned flags, int device)
{
	HIT;
	(void)params;
	return create(ctx, flags, device);
}

API cuCtxDestroy_v2(void *ctx)
{
	HIT;
	if (current == ctx)
		current = NULL;
	return OK;
}

API cuCtxGetCurrent(void **ctx)
{
	HIT;
	*ctx = current;
	return OK;
}

API cuCtxSetCurrent(void *ctx)
{
	HIT;
	enter(ctx);
	return OK;
}

API cuCtxPushCurrent_v2(void *ctx)
{
	HIT;
	if (depth < 16)
		stack[depth++] = current;
	enter(ctx);
	return OK;
}

API cuCtxPopCurrent_v2(void **ctx)
{
	HIT;
	if (ctx)
		*ctx = current;
	enter(depth ? stack[--depth] : NULL);
	return OK;
}

API cuCtxGetDevice(int *device)
{
	HIT;
	*device = thread_device;
	return current ? OK : INVALID_CONTEXT;
}

API cuCtxGetFlags(unsigned *flags)
{
	HIT;
	*flags = devices[thread_device].flags;
	return OK;
}

API cuCtxSetFlags(unsigned flags)
{
	HIT;
	devices[thread_device].flags = flags;
	return OK;
}

API cuCtxGetId(void *ctx, unsigned long long *id)
{
	HIT;
	*id = (unsigned long long)((ctx ? (struct device *)ctx : &devices[thread_device])->index + 1);
	return OK;
}

API cuCtxGetApiVersion(void *ctx, unsigned *version)
{
	HIT;
	(void)ctx;
	*version = VERSION;
	return OK;
}

API cuCtxSynchronize(void)
{
	HIT;
	wait_device(thread_device);
	return OK;
}

API cuCtxGetLimit(size_t *value, int limit)
{
	HIT;
	*value = limit == 0 ? 1024 : limit == 1 ? 1 << 20 : limit == 2 ? 8 << 20 : 0; /* stack, printf, heap */
	return OK;
}

API cuCtxSetLimit(int limit, size_t value)
{
	HIT;
	(void)limit, (void)value;
	return OK;
}

API cuCtxGetCacheConfig(int *config)
{
	HIT;
	*config = 0;
	return OK;
}

API cuCtxSetCacheConfig(int config)
{
	HIT;
	(void)config;
	return OK;
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	HIT;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return OK;
}

API cuCtxEnablePeerAccess(void *peer, unsigned flags)
{
	HIT;
	(void)peer, (void)flags;
	return OK;
}

API cuCtxDisablePeerAccess(void *peer)
{
	HIT;
	(void)peer;
	return OK;
}
