/* With VICTIM_LATE nothing here is linked to the stand-ins: every call goes through
 * a pointer that stub_load fills, as in programs that dlopen their GPU backend. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

const struct call_args default_args = {
	.bytes = 4096, .kind = KIND_HOST_TO_DEVICE, .func = 0x401000, .ptr = 0x7e0000000000, .grid = 128, .block = 256, .name = "nameless",
};

uintptr_t last_function;

#ifdef VICTIM_LATE
#define FN(name, params, ...) static int (*fp_##name) params;
#define CALL(name) fp_##name
#else
#define FN(name, params, ...)
#define CALL(name) name
#endif
#include "../stub/cuda.def"
#include "../stub/cudart.def"
#undef FN

#define P ((void *)a->ptr)
#define D ((CUdeviceptr)a->ptr)
#define S ((void *)a->stream)
#define F ((void *)a->func)
#define G3 a->grid, 3, 2, a->block, 4, 2
#define GRID (dim3){a->grid, 3, 2}, (dim3){a->block, 4, 2}
#define RT_CONFIG (&(cudaLaunchConfig_t){.gridDim = {a->grid, 3, 2}, .blockDim = {a->block, 4, 2}, .stream = S})
#define DRV_CONFIG (&(CUlaunchConfig){a->grid, 3, 2, a->block, 4, 2, 0, S, 0, 0})
#define PTR_OUT (&(void *){0})
#define FUNC_OUT ((void **)&last_function)
#define DEV_OUT (&(CUdeviceptr){0})
#define SIZE_OUT (&(size_t){0})
#define STATUS_OUT (&(int){0})
#define ID_OUT (&(unsigned long long){0})

#define OPS                                                                   \
	OP2(cudaLaunchKernel, _ptsz, (F, GRID, 0, 0, S))                      \
	OP2(cudaLaunchKernelExC, _ptsz, (RT_CONFIG, F, 0))                    \
	OP2(cudaLaunchCooperativeKernel, _ptsz, (F, GRID, 0, 0, S))           \
	OP2(cudaGraphLaunch, _ptsz, (F, S))                                   \
	OP2(cudaGraphUpload, _ptsz, (F, S))                                   \
	OP2(cudaStreamBeginCaptureToGraph, _ptsz, (S, P, 0, 0, 0, a->kind))   \
	OP2(cudaStreamBeginCapture, _ptsz, (S, a->kind))                      \
	OP2(cudaStreamIsCapturing, _ptsz, (S, STATUS_OUT))                    \
	OP2(cudaStreamGetCaptureInfo, _ptsz, (S, STATUS_OUT, ID_OUT))         \
	OP2(cudaStreamGetCaptureInfo_v2, _ptsz, (S, STATUS_OUT, ID_OUT, 0, 0, 0)) \
	OP2(cudaStreamGetCaptureInfo_v3, _ptsz, (S, STATUS_OUT, ID_OUT, 0, 0, 0, 0)) \
	OP2(cudaStreamEndCapture, _ptsz, (S, PTR_OUT))                        \
	OP(cudaGraphInstantiate, (PTR_OUT, P, 0))                             \
	OP(cudaGraphInstantiateWithFlags, (PTR_OUT, P, 0))                    \
	OP2(cudaGraphInstantiateWithParams, _ptsz, (PTR_OUT, P, 0))           \
	OP(cudaGraphExecUpdate, (F, P, 0))                                    \
	OP(cudaGraphDestroy, (P))                                             \
	OP(cudaGraphExecDestroy, (F))                                         \
	OP(cudaMalloc, (PTR_OUT, a->bytes))                                   \
	OP2(cudaMallocAsync, _ptsz, (PTR_OUT, a->bytes, S))                   \
	OP2(cudaMallocFromPoolAsync, _ptsz, (PTR_OUT, a->bytes, 0, S))        \
	OP(cudaMallocPitch, (PTR_OUT, SIZE_OUT, a->bytes, 2))                 \
	OP(cudaHostRegister, (P, a->bytes, 0))                                \
	OP(cudaHostUnregister, (P))                                           \
	OP(cudaMallocManaged, (PTR_OUT, a->bytes, 1))                         \
	OP(cudaMallocHost, (PTR_OUT, a->bytes))                               \
	OP(cudaHostAlloc, (PTR_OUT, a->bytes, 0))                             \
	OP(cudaFree, (P))                                                     \
	OP2(cudaFreeAsync, _ptsz, (P, S))                                     \
	OP(cudaFreeHost, (P))                                                 \
	OP2(cudaMemcpy, _ptds, (P, P, a->bytes, a->kind))                     \
	OP2(cudaMemcpyAsync, _ptsz, (P, P, a->bytes, a->kind, S))             \
	OP2(cudaMemcpy2D, _ptds, (P, 512, P, 512, a->bytes, 2, a->kind))      \
	OP2(cudaMemcpy2DAsync, _ptsz, (P, 512, P, 512, a->bytes, 2, a->kind, S)) \
	OP(cudaMemcpyPeer, (P, 0, P, 1, a->bytes))                            \
	OP(cudaMemcpyPeerAsync, (P, 0, P, 1, a->bytes, S))                    \
	OP2(cudaMemset, _ptds, (P, 0, a->bytes))                              \
	OP2(cudaMemsetAsync, _ptsz, (P, 0, a->bytes, S))                      \
	OP2(cudaStreamSynchronize, _ptsz, (S))                                \
	OP(cudaDeviceSynchronize, ())                                         \
	OP(cudaEventSynchronize, (P))                                         \
	OP(cudaEventQuery, (P))                                               \
	OP2(cudaEventRecord, _ptsz, (P, S))                                   \
	OP2(cudaStreamWaitEvent, _ptsz, (S, P, 0))                            \
	OP(cudaStreamCreate, (PTR_OUT))                                       \
	OP(cudaStreamCreateWithFlags, (PTR_OUT, 1))                           \
	OP(cudaStreamCreateWithPriority, (PTR_OUT, 1, 0))                     \
	OP(cudaSetDevice, (a->device))                                        \
	OP(cudaGetDevice, (&(int){0}))                                        \
	OP(cuInit, (0))                                                       \
	OP(cuModuleLoadData, (PTR_OUT, P))                                    \
	OP(cuModuleGetFunction, (FUNC_OUT, P, a->name))                       \
	OP(cuLibraryGetKernel, (FUNC_OUT, P, a->name))                        \
	OP(cuKernelGetFunction, (FUNC_OUT, F))                                \
	OP(__cudaRegisterFunction, (PTR_OUT, F, (char *)a->name, a->name, -1, 0, 0, 0, 0, 0)) \
	OP2(cuLaunchKernel, _ptsz, (F, G3, 0, S, 0, 0))                       \
	OP2(cuLaunchKernelEx, _ptsz, (DRV_CONFIG, F, 0, 0))                   \
	OP2(cuLaunchCooperativeKernel, _ptsz, (F, G3, 0, S, 0))               \
	OP2(cuGraphLaunch, _ptsz, (F, S))                                     \
	OP2(cuGraphUpload, _ptsz, (F, S))                                     \
	OP2(cuStreamBeginCaptureToGraph, _ptsz, (S, P, 0, 0, 0, a->kind))     \
	OP2(cuStreamBeginCapture_v2, _ptsz, (S, a->kind))                     \
	OP2(cuStreamIsCapturing, _ptsz, (S, STATUS_OUT))                      \
	OP2(cuStreamGetCaptureInfo, _ptsz, (S, STATUS_OUT, ID_OUT))           \
	OP2(cuStreamGetCaptureInfo_v2, _ptsz, (S, STATUS_OUT, ID_OUT, 0, 0, 0)) \
	OP2(cuStreamGetCaptureInfo_v3, _ptsz, (S, STATUS_OUT, ID_OUT, 0, 0, 0, 0)) \
	OP2(cuStreamEndCapture, _ptsz, (S, PTR_OUT))                          \
	OP(cuGraphInstantiate, (PTR_OUT, P, 0, 0, 0))                         \
	OP(cuGraphInstantiate_v2, (PTR_OUT, P, 0, 0, 0))                      \
	OP(cuGraphInstantiateWithFlags, (PTR_OUT, P, 0))                      \
	OP2(cuGraphInstantiateWithParams, _ptsz, (PTR_OUT, P, 0))             \
	OP(cuGraphExecUpdate, (F, P, 0, 0))                                   \
	OP(cuGraphExecUpdate_v2, (F, P, 0))                                   \
	OP(cuGraphDestroy, (P))                                               \
	OP(cuGraphExecDestroy, (F))                                           \
	OP(cuMemAlloc_v2, (DEV_OUT, a->bytes))                                \
	OP2(cuMemAllocAsync, _ptsz, (DEV_OUT, a->bytes, S))                   \
	OP2(cuMemAllocFromPoolAsync, _ptsz, (DEV_OUT, a->bytes, 0, S))        \
	OP(cuMemAllocPitch_v2, (DEV_OUT, SIZE_OUT, a->bytes, 2, 4))           \
	OP(cuMemCreate, (ID_OUT, a->bytes, 0, 0))                             \
	OP(cuMemRelease, (a->ptr))                                            \
	OP(cuMemHostRegister_v2, (P, a->bytes, 0))                            \
	OP(cuMemHostUnregister, (P))                                          \
	OP(cuMemAllocManaged, (DEV_OUT, a->bytes, 1))                         \
	OP(cuMemAllocHost_v2, (PTR_OUT, a->bytes))                            \
	OP(cuMemHostAlloc, (PTR_OUT, a->bytes, 0))                            \
	OP(cuMemFree_v2, (D))                                                 \
	OP2(cuMemFreeAsync, _ptsz, (D, S))                                    \
	OP(cuMemFreeHost, (P))                                                \
	OP2(cuMemcpyHtoD_v2, _ptds, (D, P, a->bytes))                         \
	OP2(cuMemcpyDtoH_v2, _ptds, (P, D, a->bytes))                         \
	OP2(cuMemcpyDtoD_v2, _ptds, (D, D, a->bytes))                         \
	OP2(cuMemcpyHtoDAsync_v2, _ptsz, (D, P, a->bytes, S))                 \
	OP2(cuMemcpyDtoHAsync_v2, _ptsz, (P, D, a->bytes, S))                 \
	OP2(cuMemcpyDtoDAsync_v2, _ptsz, (D, D, a->bytes, S))                 \
	OP2(cuMemsetD8_v2, _ptds, (D, 0, a->bytes))                           \
	OP2(cuMemsetD8Async, _ptsz, (D, 0, a->bytes, S))                      \
	OP(cuCtxSynchronize, ())                                              \
	OP2(cuStreamSynchronize, _ptsz, (S))                                  \
	OP(cuEventSynchronize, (P))                                           \
	OP(cuEventQuery, (P))                                                 \
	OP2(cuEventRecord, _ptsz, (P, S))                                     \
	OP2(cuStreamWaitEvent, _ptsz, (S, P, 0))                              \
	OP(cuStreamCreate, (PTR_OUT, 0))                                      \
	OP(cuStreamCreateWithPriority, (PTR_OUT, 0, 0))

#define OP2(name, suffix, args) OP(name, args) OP(name##suffix, args)

#define OP(name, args)                                        \
	static int op_##name(const struct call_args *a)       \
	{                                                     \
		(void)a;                                      \
		return CALL(name) args;                       \
	}
OPS
#undef OP

static const struct op ops[] = {
#define OP(name, args) {#name, op_##name},
	OPS
#undef OP
	{0},
};

const struct op *op_at(unsigned i)
{
	return i < sizeof(ops) / sizeof(ops[0]) - 1 ? &ops[i] : NULL;
}

const struct op *find_op(const char *name)
{
	for (const struct op *o = ops; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

#ifdef VICTIM_LATE

static void *runtime, *driver;
static int (*set_fn)(const char *);
static void (*callback_fn)(void (*)(void *), void *);
static void (*forget_fn)(void);

static void resolve_all(void)
{
#define FN(name, params, ...)                                     \
	*(void **)&fp_##name = dlsym(runtime, #name);             \
	if (!fp_##name)                                           \
		*(void **)&fp_##name = dlsym(driver, #name);
#include "../stub/cuda.def"
#include "../stub/cudart.def"
#undef FN
	*(void **)&set_fn = dlsym(driver, "cudastub_set");
	*(void **)&callback_fn = dlsym(driver, "cudastub_callback");
	*(void **)&forget_fn = dlsym(driver, "cudastub_forget");
}

int stub_load(void)
{
	if (runtime)
		return 0;
	runtime = dlopen("libcudart.so.12", RTLD_NOW);
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!runtime || !driver)
		return -1;
	resolve_all();
	return 0;
}

void stub_unload(void)
{
	if (runtime)
		dlclose(runtime);
	if (driver)
		dlclose(driver);
	runtime = driver = NULL;
}

int stub_loaded(void) { return runtime != NULL; }
int stub_set(const char *spec) { return set_fn(spec); }
void stub_callback(void (*fn)(void *), void *arg) { callback_fn(fn, arg); }
void stub_forget(void) { forget_fn(); }

#else

int stub_load(void) { return 0; }
void stub_unload(void) {}
int stub_loaded(void) { return 1; }
int stub_set(const char *spec) { return cudastub_set(spec); }
void stub_callback(void (*fn)(void *), void *arg) { cudastub_callback(fn, arg); }
void stub_forget(void) { cudastub_forget(); }

#endif
