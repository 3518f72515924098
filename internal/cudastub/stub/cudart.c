/* libcudart.so.12 */
#include "api.h"

enum { DEVICES = 8 };

static __thread int current_device;

static inline int set_device(int device)
{
	if (device < 0 || device >= DEVICES)
		return ERR_INVALID_DEVICE;
	current_device = device;
	return 0;
}

/* The driver has one copy function per direction where the runtime has a kind. */
#define DRV_COPY(name, suffix, params, ...)                                            \
	static inline int name params                                                  \
	{                                                                              \
		CUdeviceptr to = (uintptr_t)dst, from = (uintptr_t)src;                \
		if (kind == KIND_HOST_TO_DEVICE)                                       \
			return cuMemcpyHtoD##suffix(to, src, __VA_ARGS__);             \
		if (kind == KIND_DEVICE_TO_HOST)                                       \
			return cuMemcpyDtoH##suffix(dst, from, __VA_ARGS__);           \
		return cuMemcpyDtoD##suffix(to, from, __VA_ARGS__);                    \
	}
#define COPY_PARAMS (void *dst, const void *src, size_t n, int kind)
#define COPY_ASYNC_PARAMS (void *dst, const void *src, size_t n, int kind, CUstream stream)
DRV_COPY(drv_copy, _v2, COPY_PARAMS, n)
DRV_COPY(drv_copy_ptds, _v2_ptds, COPY_PARAMS, n)
DRV_COPY(drv_copy_async, Async_v2, COPY_ASYNC_PARAMS, n, stream)
DRV_COPY(drv_copy_async_ptsz, Async_v2_ptsz, COPY_ASYNC_PARAMS, n, stream)

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *c)
{
	return (CUlaunchConfig){
		.gridDimX = c->gridDim.x, .gridDimY = c->gridDim.y, .gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x, .blockDimY = c->blockDim.y, .blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned)c->dynamicSmemBytes, .hStream = c->stream,
		.attrs = c->attrs, .numAttrs = c->numAttrs,
	};
}

__attribute__((noinline)) static int drv_launch_ex(const cudaLaunchConfig_t *c, const void *func, void **args)
{
	CUlaunchConfig d = driver_config(c);

	return cuLaunchKernelEx(&d, (void *)func, args, 0);
}

__attribute__((noinline)) static int drv_launch_ex_ptsz(const cudaLaunchConfig_t *c, const void *func, void **args)
{
	CUlaunchConfig d = driver_config(c);

	return cuLaunchKernelEx_ptsz(&d, (void *)func, args, 0);
}

#define FUNCTIONS "cudart.def"
#include "rows.h"
