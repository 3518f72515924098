/* Driver: errors, and how programs find functions by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{OK, "CUDA_SUCCESS", "no error"},
	{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the memory is registered"},
	{NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer is not registered"},
	{NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted when stream is capturing"},
	{CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not begun in this stream"},
	{UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"},
};

static const char *word(int code, bool name)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			return name ? errors[i].name : errors[i].text;
	return NULL;
}

API cuGetErrorString(int code, const char **text)
{
	HIT;
	*text = word(code, false);
	return *text ? OK : INVALID_VALUE;
}

API cuGetErrorName(int code, const char **name)
{
	HIT;
	*name = word(code, true);
	return *name ? OK : INVALID_VALUE;
}

/* Functions with more than one newer form: the CUDA version since which the name without a
 * number means each form. */
static const struct {
	const char *name, *form;
	int since;
} forms[] = {
	{"cuCtxCreate", "cuCtxCreate_v4", 13000},
	{"cuCtxCreate", "cuCtxCreate_v2", 3020},
	{"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030},
	{"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030},
	{"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
	{"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 11040},
	{"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
	{"cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies_v2", 12030},
	{"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 13000},
	{"cuMemAdvise", "cuMemAdvise_v2", 13000},
	{"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
	{"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
	{"cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000},
	{"cuGraphAddNode", "cuGraphAddNode_v2", 12030},
	{"cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
	{"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
	{"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000},
	{"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
};

static void *self(void)
{
	static void *handle;
	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return handle;
}

static void *suffixed(const char *name, const char *suffix)
{
	char full[160];
	snprintf(full, sizeof full, "%s%s", name, suffix);
	return dlsym(self(), full);
}

/* Flag 2 asks for the forms whose default stream is the thread's own. */
static void *lookup(const char *name, int version, uint64_t flags)
{
	const char *form = NULL;
	for (size_t i = 0; i < sizeof forms / sizeof *forms && !form; i++)
		if (!strcmp(forms[i].name, name) && version >= forms[i].since)
			form = forms[i].form;
	void *f = NULL;
	if (flags & 2) {
		f = suffixed(form ? form : name, "_ptsz");
		if (!f)
			f = suffixed(form ? form : name, "_v2_ptds");
	}
	if (!f && form)
		f = dlsym(self(), form);
	if (!f && version >= 3020)
		for (size_t i = 0, known = 0; i <= sizeof forms / sizeof *forms && !f; i++) {
			if (i < sizeof forms / sizeof *forms)
				known |= !strcmp(forms[i].name, name);
			else if (!known)
				f = suffixed(name, "_v2");
		}
	return f ? f : dlsym(self(), name);
}

API cuGetProcAddress_v2(const char *name, void **f, int version, uint64_t flags, int *status)
{
	HIT;
	*f = name ? lookup(name, version, flags) : NULL;
	if (status)
		*status = *f ? 0 : 1;
	return *f ? OK : NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **f, int version, uint64_t flags)
{
	HIT;
	*f = name ? lookup(name, version, flags) : NULL;
	return *f ? OK : NOT_FOUND;
}

/* Export tables are private to NVIDIA's libraries; there are none here. Requests are counted
 * by identifier. */
API cuGetExportTable(const void **table, const unsigned char *id)
{
	HIT;
	char name[64];
	int n = snprintf(name, sizeof name, "cuGetExportTable ");
	for (int i = 0; i < 16; i++)
		n += snprintf(name + n, sizeof name - (size_t)n, "%02x", id[i]);
	hollow_add(hollow_row(ROW_BYTES, name), 1);
	*table = NULL;
	return NOT_FOUND;
}

API cuProfilerStart(void)
{
	HIT;
	return OK;
}

API cuProfilerStop(void)
{
	HIT;
	return OK;
}
