/*
 * cuDNN: handles, descriptors and its graph interface (the "backend" functions), as far as
 * PyTorch's convolutions and batch normalisation use them. One engine is offered for any
 * graph; a plan that is executed launches one kernel.
 */
#include "nvlibs.h"

enum { ALLOC_FAILED = 2003, EXECUTION_FAILED = 5000 };

/* cudnnBackendAttributeType_t and cudnnBackendAttributeName_t of cudnn_graph.h */
enum { TYPE_INT64 = 3 };
enum { ENGINEHEUR_RESULTS = 202, ENGINECFG_ENGINE = 300, ENGINE_GLOBAL_COUNT = 802 };

API_OF(size_t) cudnnGetVersion(void)
{
	HIT;
	return 92600;
}

API_OF(size_t) cudnnGetCudartVersion(void)
{
	HIT;
	return 13020;
}

API cudnnGetProperty(int which, int *value)
{
	HIT;
	*value = which == 0 ? 9 : which == 1 ? 26 : 0; /* major, minor, patch */
	return 0;
}

API_OF(const char *) cudnnGetErrorString(int status)
{
	HIT;
	return status ? "CUDNN_STATUS_NOT_SUPPORTED (hollow cuDNN)" : "CUDNN_STATUS_SUCCESS";
}

API_OF(void) cudnnGetLastErrorString(char *text, size_t size)
{
	HIT;
	if (size)
		*text = 0;
}

API cudnnCreate(void **handle)
{
	HIT;
	return nvlibs_new(handle, sizeof(struct handle), ALLOC_FAILED);
}

API cudnnSetStream(struct handle *h, void *stream)
{
	HIT;
	h->stream = stream;
	return 0;
}

API cudnnGetStream(struct handle *h, void **stream)
{
	HIT;
	*stream = h->stream;
	return 0;
}

API cudnnBackendCreateDescriptor(int kind, void **desc)
{
	HIT;
	return nvlibs_new(desc, 64, ALLOC_FAILED);
}

API cudnnBackendDestroyDescriptor(void *desc)
{
	HIT;
	free(desc);
	return 0;
}

API cudnnBackendSetAttribute(void *desc, int name, int type, int64_t count, const void *values)
{
	HIT;
	return 0;
}

API cudnnBackendFinalize(void *desc)
{
	HIT;
	return 0;
}

/* The caller passes the descriptors that it asks for; nothing has to be written to them. */
API cudnnBackendGetAttribute(void *desc, int name, int type, int64_t wanted, int64_t *got, void *values)
{
	HIT;
	int64_t n = name == ENGINEHEUR_RESULTS || name == ENGINECFG_ENGINE;
	if (type == TYPE_INT64) {
		n = 1;
		if (wanted > 0 && values)
			*(int64_t *)values = name == ENGINE_GLOBAL_COUNT;
	}
	if (got)
		*got = n;
	return 0;
}

API cudnnBackendExecute(struct handle *h, void *plan, void *pack)
{
	HIT;
	return LAUNCH("hollow_cudnn_graph", h->stream, EXECUTION_FAILED);
}

API cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops, void *x, void *z, void *y,
							     void *scale, void *activation, size_t *size)
{
	HIT;
	*size = 0;
	return 0;
}

API cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops, void *x, void *y, void *dy,
						      void *dz, void *dx, void *scale, void *activation,
						      size_t *size)
{
	HIT;
	*size = 0;
	return 0;
}

API cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops, void *activation, void *x,
							 size_t *size)
{
	HIT;
	*size = 0;
	return 0;
}

API cudnnDropoutGetStatesSize(void *h, size_t *size)
{
	HIT;
	*size = 4096;
	return 0;
}
