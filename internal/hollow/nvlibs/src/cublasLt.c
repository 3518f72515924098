/* cuBLASLt: matrix products with descriptors, of which none is looked at. */
#include "nvlibs.h"

enum { FAILED = 13, ALLOC_FAILED = 3, DESCRIPTOR = 256 };

/* cublasLtMatmulHeuristicResult_t of cublasLt.h */
struct heuristic {
	uint64_t algo[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

API_OF(size_t) cublasLtGetVersion(void)
{
	HIT;
	return 130400;
}

API cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
	HIT;
	return nvlibs_new(desc, DESCRIPTOR, ALLOC_FAILED);
}

API cublasLtMatmulDescDestroy(void *desc)
{
	HIT;
	free(desc);
	return 0;
}

API cublasLtMatmulDescSetAttribute(void *desc, int what, const void *value, size_t size)
{
	HIT;
	return 0;
}

API cublasLtMatmulPreferenceCreate(void **pref)
{
	HIT;
	return nvlibs_new(pref, DESCRIPTOR, ALLOC_FAILED);
}

API cublasLtMatmulPreferenceDestroy(void *pref)
{
	HIT;
	free(pref);
	return 0;
}

API cublasLtMatmulPreferenceSetAttribute(void *pref, int what, const void *value, size_t size)
{
	HIT;
	return 0;
}

API cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
	HIT;
	return nvlibs_new(layout, DESCRIPTOR, ALLOC_FAILED);
}

API cublasLtMatrixLayoutDestroy(void *layout)
{
	HIT;
	free(layout);
	return 0;
}

API cublasLtMatrixLayoutSetAttribute(void *layout, int what, const void *value, size_t size)
{
	HIT;
	return 0;
}

API cublasLtMatmulAlgoGetHeuristic(void *handle, void *op, void *a, void *b, void *c, void *d, void *pref,
				   int wanted, struct heuristic *results, int *got)
{
	HIT;
	*got = wanted > 0;
	if (*got)
		*results = (struct heuristic){.waves = 1};
	return 0;
}

API cublasLtMatmul(void *handle, void *op, const void *alpha, const void *a, void *a_layout, const void *b,
		   void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
		   const void *algo, void *workspace, size_t size, void *stream)
{
	HIT;
	return LAUNCH("hollow_cublasLtMatmul", stream, FAILED);
}
