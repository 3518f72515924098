/* cuBLASLt: matrix products with descriptors, which are ignored. */
#include "nvlibs.h"

enum { FAILED = 13, REFUSED = 15, ALLOC_FAILED = 3, DESCRIPTOR = 256 };

/* cublasLtMatrixLayoutAttribute_t of cublasLt.h; a layout keeps each as 8 bytes */
enum {
	LAYOUT_TYPE = 0,
	LAYOUT_ROWS = 2,
	LAYOUT_COLUMNS = 3,
	LAYOUT_LD = 4,
	LAYOUT_BATCHES = 5,
	LAYOUT_ATTRIBUTES = 8,
};

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

API cublasLtCreate(void **handle)
{
	HIT;
	return nvlibs_new(handle, sizeof(struct handle), ALLOC_FAILED);
}

API cublasLtDestroy(void *handle)
{
	HIT;
	free(handle);
	return 0;
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

API cublasLtMatrixLayoutCreate(uint64_t **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
	HIT;
	int status = nvlibs_new((void **)layout, DESCRIPTOR, ALLOC_FAILED);
	if (!status) {
		(*layout)[LAYOUT_TYPE] = (uint64_t)type;
		(*layout)[LAYOUT_ROWS] = rows;
		(*layout)[LAYOUT_COLUMNS] = columns;
		(*layout)[LAYOUT_LD] = (uint64_t)ld;
		(*layout)[LAYOUT_BATCHES] = 1;
	}
	return status;
}

API cublasLtMatrixLayoutDestroy(void *layout)
{
	HIT;
	free(layout);
	return 0;
}

API cublasLtMatrixLayoutSetAttribute(uint64_t *layout, unsigned what, const void *value, size_t size)
{
	HIT;
	if (what < LAYOUT_ATTRIBUTES && size <= sizeof *layout)
		memcpy(layout + what, value, size);
	return 0;
}

API cublasLtMatrixLayoutGetAttribute(const uint64_t *layout, unsigned what, void *value, size_t size, size_t *written)
{
	HIT;
	if (what >= LAYOUT_ATTRIBUTES || size > sizeof *layout)
		return REFUSED;
	memcpy(value, layout + what, size);
	if (written)
		*written = size;
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
