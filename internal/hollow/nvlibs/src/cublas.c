/* cuBLAS. The functions that compute are generated: each launches a kernel on the handle's stream. */
#include "nvlibs.h"

enum { ALLOC_FAILED = 3 };

API cublasCreate_v2(void **handle)
{
	HIT;
	return nvlibs_new(handle, sizeof(struct handle), ALLOC_FAILED);
}

API cublasDestroy_v2(void *handle)
{
	HIT;
	free(handle);
	return 0;
}

API_OF(const char *) cublasGetStatusName(int status)
{
	HIT;
	return status ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_SUCCESS";
}

API_OF(const char *) cublasGetStatusString(int status)
{
	HIT;
	return status ? "not supported (hollow cuBLAS)" : "success";
}

API cublasSetStream_v2(struct handle *h, void *stream)
{
	HIT;
	h->stream = stream;
	return 0;
}

API cublasSetWorkspace_v2(struct handle *h, void *workspace, size_t size)
{
	HIT;
	return 0;
}

API cublasGetMathMode(struct handle *h, int *mode)
{
	HIT;
	*mode = h->math_mode;
	return 0;
}

API cublasSetMathMode(struct handle *h, int mode)
{
	HIT;
	h->math_mode = mode;
	return 0;
}

API cublasGetPointerMode_v2(struct handle *h, int *mode)
{
	HIT;
	*mode = h->pointer_mode;
	return 0;
}

API cublasSetPointerMode_v2(struct handle *h, int mode)
{
	HIT;
	h->pointer_mode = mode;
	return 0;
}

API cublasSetSmCountTarget(struct handle *h, int count)
{
	HIT;
	return 0;
}
