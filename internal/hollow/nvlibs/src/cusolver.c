/* cuSOLVER: handles only; queries of a workspace's size return "not supported". */
#include "nvlibs.h"

API cusolverDnCreate(void **handle)
{
	HIT;
	return nvlibs_new(handle, sizeof(struct handle), 2);
}

API cusolverDnDestroy(void *handle)
{
	HIT;
	free(handle);
	return 0;
}

API cusolverDnSetStream(struct handle *h, void *stream)
{
	HIT;
	h->stream = stream;
	return 0;
}
