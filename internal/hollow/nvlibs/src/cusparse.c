/* cuSPARSE: handles only; the functions that compute are generated. */
#include "nvlibs.h"

API cusparseCreate(void **handle)
{
	HIT;
	return nvlibs_new(handle, sizeof(struct handle), 2);
}

API cusparseDestroy(void *handle)
{
	HIT;
	free(handle);
	return 0;
}

API cusparseSetStream(struct handle *h, void *stream)
{
	HIT;
	h->stream = stream;
	return 0;
}

API cusparseSetPointerMode(struct handle *h, int mode)
{
	HIT;
	h->pointer_mode = mode;
	return 0;
}

API_OF(const char *) cusparseGetErrorString(int status)
{
	HIT;
	return status ? "failed (hollow cuSPARSE)" : "success";
}
