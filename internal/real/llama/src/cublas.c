/*
 * The functions of cuBLAS that ggml's CUDA library is linked to. It computes with kernels of its
 * own where the model is quantized, so that of these only cublasCreate may be called; each is
 * counted and says that all went well.
 */
#include "hollow.h"

API cublasCreate_v2(void **handle)
{
	HIT;
	*handle = handle;
	return 0;
}

API_OF(const char *) cublasGetStatusString(int status)
{
	HIT;
	return status ? "an error of cuBLAS" : "success";
}

#define COUNTED(name)                                                                                        \
	API name(void)                                                                                       \
	{                                                                                                    \
		HIT;                                                                                         \
		return 0;                                                                                    \
	}

COUNTED(cublasDestroy_v2)
COUNTED(cublasGemmBatchedEx)
COUNTED(cublasGemmEx)
COUNTED(cublasGemmStridedBatchedEx)
COUNTED(cublasSetMathMode)
COUNTED(cublasSetStream_v2)
COUNTED(cublasSetWorkspace_v2)
COUNTED(cublasSgemmBatched)
COUNTED(cublasSgemmStridedBatched)
COUNTED(cublasSgemm_v2)
COUNTED(cublasStrsmBatched)
