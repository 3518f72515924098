/* Types of the CUDA APIs, as far as the calling convention needs them.
 *
 * Source of facts: the public reference of the CUDA Runtime API
 * (cudaLaunchConfig_t, dim3) and of the CUDA Driver API (CUlaunchConfig).
 * Handles are opaque pointers there and stay opaque here; enums are ints. */
#ifndef CUDASTUB_TYPES_H
#define CUDASTUB_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint32_t x, y, z;
} dim3; /* 12 bytes, passed by value: two integer registers on x86-64 and arm64 */

typedef void *cudaStream_t, *cudaEvent_t, *cudaGraph_t, *cudaGraphNode_t, *cudaGraphExec_t;
typedef void *CUstream, *CUevent, *CUfunction, *CUmodule, *CUlibrary, *CUkernel, *CUgraph, *CUgraphExec;
typedef unsigned long long CUdeviceptr;

typedef struct {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned numAttrs;
} cudaLaunchConfig_t;

typedef struct {
	unsigned gridDimX, gridDimY, gridDimZ;
	unsigned blockDimX, blockDimY, blockDimZ;
	unsigned sharedMemBytes;
	CUstream hStream;
	void *attrs;
	unsigned numAttrs;
} CUlaunchConfig;

enum { /* cudaMemcpyKind */
	KIND_HOST_TO_HOST = 0,
	KIND_HOST_TO_DEVICE = 1,
	KIND_DEVICE_TO_HOST = 2,
	KIND_DEVICE_TO_DEVICE = 3,
	KIND_DEFAULT = 4,
};

enum { /* cudaStreamCaptureStatus */
	CAPTURE_NONE = 0,
	CAPTURE_ACTIVE = 1,
	CAPTURE_INVALIDATED = 2,
};

enum { /* errors the stand-ins return by themselves */
	ERR_INVALID_VALUE = 1,
	ERR_INVALID_DEVICE = 101,
	ERR_CAPTURE_UNSUPPORTED = 900,
	ERR_CAPTURE_INVALIDATED = 901,
	ERR_UNKNOWN = 999,
};

#endif
