/* Runtime: streams, events, capture and graphs. */
#include "rt.h"

DRIVER(cuStreamCreateWithPriority, void **, unsigned, int);
DRIVER(cuStreamCreate, void **, unsigned);
DRIVER(cuStreamDestroy_v2, void *);
DRIVER(cuStreamSynchronize, void *);
DRIVER(cuStreamSynchronize_ptsz, void *);
DRIVER(cuStreamQuery, void *);
DRIVER(cuStreamWaitEvent, void *, void *, unsigned);
DRIVER(cuStreamAddCallback, void *, void *, void *, unsigned);
DRIVER(cuStreamGetPriority, void *, int *);
DRIVER(cuStreamGetFlags, void *, unsigned *);
DRIVER(cuStreamGetId, void *, unsigned long long *);
DRIVER(cuStreamGetDevice, void *, int *);
DRIVER(cuEventCreate, void **, unsigned);
DRIVER(cuEventDestroy_v2, void *);
DRIVER(cuEventRecord, void *, void *);
DRIVER(cuEventRecord_ptsz, void *, void *);
DRIVER(cuEventRecordWithFlags, void *, void *, unsigned);
DRIVER(cuEventQuery, void *);
DRIVER(cuEventSynchronize, void *);
DRIVER(cuEventElapsedTime, float *, void *, void *);
DRIVER(cuStreamBeginCapture_v2, void *, int);
DRIVER(cuStreamEndCapture, void *, void **);
DRIVER(cuStreamIsCapturing, void *, int *);
DRIVER(cuStreamGetCaptureInfo_v2, void *, int *, unsigned long long *, void **, void *, size_t *);
DRIVER(cuStreamGetCaptureInfo_v3, void *, int *, unsigned long long *, void **, void *, void *, size_t *);
DRIVER(cuStreamUpdateCaptureDependencies, void *, void *, size_t, unsigned);
DRIVER(cuStreamUpdateCaptureDependencies_v2, void *, void *, const void *, size_t, unsigned);
DRIVER(cuThreadExchangeStreamCaptureMode, int *);
DRIVER(cuGraphCreate, void **, unsigned);
DRIVER(cuGraphDestroy, void *);
DRIVER(cuGraphClone, void **, void *);
DRIVER(cuGraphInstantiateWithFlags, void **, void *, unsigned long long);
DRIVER(cuGraphExecDestroy, void *);
DRIVER(cuGraphExecUpdate_v2, void *, void *, void *);
DRIVER(cuGraphLaunch, void *, void *);
DRIVER(cuGraphLaunch_ptsz, void *, void *);
DRIVER(cuGraphUpload, void *, void *);
DRIVER(cuGraphGetNodes, void *, void *, size_t *);
DRIVER(cuGraphGetRootNodes, void *, void *, size_t *);
DRIVER(cuGraphNodeGetType, void *, int *);

API cudaStreamCreate(void **stream)
{
	BEGIN;
	return rt_done(cuStreamCreate(stream, 0));
}

API cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamCreate(stream, flags));
}

API cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	BEGIN;
	return rt_done(cuStreamCreateWithPriority(stream, flags, priority));
}

API cudaStreamDestroy(void *stream)
{
	BEGIN;
	return rt_done(cuStreamDestroy_v2(stream));
}

API cudaStreamSynchronize(void *stream)
{
	BEGIN;
	return rt_done(cuStreamSynchronize(stream));
}

API cudaStreamSynchronize_ptsz(void *stream)
{
	BEGIN;
	return rt_done(cuStreamSynchronize_ptsz(stream));
}

API cudaStreamQuery(void *stream)
{
	BEGIN;
	return rt_done(cuStreamQuery(stream));
}

API cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamWaitEvent(stream, event, flags));
}

API cudaStreamWaitEvent_ptsz(void *stream, void *event, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamWaitEvent(stream ? stream : (void *)2, event, flags));
}

API cudaStreamAddCallback(void *stream, void *fn, void *arg, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamAddCallback(stream, fn, arg, flags));
}

API cudaStreamGetPriority(void *stream, int *priority)
{
	BEGIN;
	return rt_done(cuStreamGetPriority(stream, priority));
}

API cudaStreamGetFlags(void *stream, unsigned *flags)
{
	BEGIN;
	return rt_done(cuStreamGetFlags(stream, flags));
}

API cudaStreamGetId(void *stream, unsigned long long *id)
{
	BEGIN;
	return rt_done(cuStreamGetId(stream, id));
}

API cudaStreamGetDevice(void *stream, int *device)
{
	BEGIN;
	return rt_done(cuStreamGetDevice(stream, device));
}

API cudaEventCreate(void **event)
{
	BEGIN;
	return rt_done(cuEventCreate(event, 0));
}

API cudaEventCreateWithFlags(void **event, unsigned flags)
{
	BEGIN;
	return rt_done(cuEventCreate(event, flags));
}

API cudaEventDestroy(void *event)
{
	BEGIN;
	return rt_done(cuEventDestroy_v2(event));
}

API cudaEventRecord(void *event, void *stream)
{
	BEGIN;
	return rt_done(cuEventRecord(event, stream));
}

API cudaEventRecord_ptsz(void *event, void *stream)
{
	BEGIN;
	return rt_done(cuEventRecord_ptsz(event, stream));
}

API cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
	BEGIN;
	return rt_done(cuEventRecordWithFlags(event, stream, flags));
}

API cudaEventQuery(void *event)
{
	BEGIN;
	return rt_done(cuEventQuery(event));
}

API cudaEventSynchronize(void *event)
{
	BEGIN;
	return rt_done(cuEventSynchronize(event));
}

API cudaEventElapsedTime(float *ms, void *from, void *to)
{
	BEGIN;
	return rt_done(cuEventElapsedTime(ms, from, to));
}

API cudaEventElapsedTime_v2(float *ms, void *from, void *to)
{
	BEGIN;
	return rt_done(cuEventElapsedTime(ms, from, to));
}

API cudaStreamBeginCapture(void *stream, int mode)
{
	BEGIN;
	return rt_done(cuStreamBeginCapture_v2(stream, mode));
}

API cudaStreamEndCapture(void *stream, void **graph)
{
	BEGIN;
	return rt_done(cuStreamEndCapture(stream, graph));
}

API cudaStreamIsCapturing(void *stream, int *status)
{
	BEGIN;
	return rt_done(cuStreamIsCapturing(stream, status));
}

/* In 13 the name without a number is what _v3 was in 12: with the edges' data. */
#if CUDART >= 13
API cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph, void *deps, void *edges,
			     size_t *n)
{
	BEGIN;
	return rt_done(cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, edges, n));
}

API cudaStreamUpdateCaptureDependencies(void *stream, void *deps, const void *edges, size_t n, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamUpdateCaptureDependencies_v2(stream, deps, edges, n, flags));
}

API cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
	BEGIN;
	return rt_done(cuGraphInstantiateWithFlags(exec, graph, flags));
}
#else
API cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
	BEGIN;
	return rt_done(cuStreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL));
}

API cudaStreamUpdateCaptureDependencies(void *stream, void *deps, size_t n, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamUpdateCaptureDependencies(stream, deps, n, flags));
}

API cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
	BEGIN;
	return rt_done(cuGraphInstantiateWithFlags(exec, graph, flags));
}
#endif

API cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, void *deps, size_t *n)
{
	BEGIN;
	return rt_done(cuStreamGetCaptureInfo_v2(stream, status, id, graph, deps, n));
}

API cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph, void *deps, void *edges,
				size_t *n)
{
	BEGIN;
	return rt_done(cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, edges, n));
}

API cudaStreamUpdateCaptureDependencies_v2(void *stream, void *deps, const void *edges, size_t n, unsigned flags)
{
	BEGIN;
	return rt_done(cuStreamUpdateCaptureDependencies_v2(stream, deps, edges, n, flags));
}

API cudaThreadExchangeStreamCaptureMode(int *mode)
{
	BEGIN;
	return rt_done(cuThreadExchangeStreamCaptureMode(mode));
}

API cudaGraphCreate(void **graph, unsigned flags)
{
	BEGIN;
	return rt_done(cuGraphCreate(graph, flags));
}

API cudaGraphDestroy(void *graph)
{
	BEGIN;
	return rt_done(cuGraphDestroy(graph));
}

API cudaGraphClone(void **clone, void *graph)
{
	BEGIN;
	return rt_done(cuGraphClone(clone, graph));
}

API cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	BEGIN;
	return rt_done(cuGraphInstantiateWithFlags(exec, graph, flags));
}

API cudaGraphExecDestroy(void *exec)
{
	BEGIN;
	return rt_done(cuGraphExecDestroy(exec));
}

API cudaGraphExecUpdate(void *exec, void *graph, void *result)
{
	BEGIN;
	return rt_done(cuGraphExecUpdate_v2(exec, graph, result));
}

API cudaGraphLaunch(void *exec, void *stream)
{
	BEGIN;
	return rt_done(cuGraphLaunch(exec, stream));
}

API cudaGraphLaunch_ptsz(void *exec, void *stream)
{
	BEGIN;
	return rt_done(cuGraphLaunch_ptsz(exec, stream));
}

API cudaGraphUpload(void *exec, void *stream)
{
	BEGIN;
	return rt_done(cuGraphUpload(exec, stream));
}

API cudaGraphGetNodes(void *graph, void *nodes, size_t *n)
{
	BEGIN;
	return rt_done(cuGraphGetNodes(graph, nodes, n));
}

API cudaGraphGetRootNodes(void *graph, void *nodes, size_t *n)
{
	BEGIN;
	return rt_done(cuGraphGetRootNodes(graph, nodes, n));
}

API cudaGraphNodeGetType(void *node, int *type)
{
	BEGIN;
	return rt_done(cuGraphNodeGetType(node, type));
}
