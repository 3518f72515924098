/* Driver: streams and events. */
#include <stdlib.h>

#include "engine.h"

enum { EVENT_BLOCKING = 1, EVENT_NO_TIMING = 2 };

API cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	HIT;
	*stream = stream_new(flags, priority);
	return OK;
}

API cuStreamCreate(void **stream, unsigned flags)
{
	HIT;
	*stream = stream_new(flags, 0);
	return OK;
}

API cuStreamDestroy_v2(void *stream)
{
	HIT;
	if ((uintptr_t)stream <= 2)
		return INVALID_HANDLE;
	stream_free(stream);
	return OK;
}

API cuStreamGetPriority(void *stream, int *priority)
{
	HIT;
	*priority = stream_of(stream)->priority;
	return OK;
}

API cuStreamGetFlags(void *stream, unsigned *flags)
{
	HIT;
	*flags = stream_of(stream)->flags;
	return OK;
}

API cuStreamGetId(void *stream, unsigned long long *id)
{
	HIT;
	*id = stream_of(stream)->id;
	return OK;
}

API cuStreamGetCtx(void *stream, void **ctx)
{
	HIT;
	*ctx = &devices[stream_of(stream)->device];
	return OK;
}

API cuStreamGetDevice(void *stream, int *device)
{
	HIT;
	*device = stream_of(stream)->device;
	return OK;
}

static int synchronize(struct stream *s)
{
	if (s->capture)
		return CAPTURE_UNSUPPORTED;
	wait_stream(s);
	return OK;
}

API cuStreamSynchronize(void *stream)
{
	HIT;
	return synchronize(stream_of(stream));
}

API cuStreamSynchronize_ptsz(void *stream)
{
	HIT;
	return synchronize(stream_of(stream ? stream : (void *)2));
}

API cuStreamQuery(void *stream)
{
	HIT;
	struct stream *s = stream_of(stream);
	pthread_mutex_lock(&engine);
	int status = s->capture ? CAPTURE_UNSUPPORTED : s->head || s->ready > hollow_now() ? NOT_READY : OK;
	pthread_mutex_unlock(&engine);
	return status;
}

API cuStreamWaitEvent(void *stream, struct event *e, unsigned flags)
{
	HIT;
	struct stream *s = stream_of(stream);
	(void)flags;
	if (!e)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	if (e->capture && e->capture->status)
		capture_join(s, e);
	else if (!s->capture && e->stamp)
		stream_wait(s, e->stamp);
	pthread_mutex_unlock(&engine);
	return OK;
}

struct callback {
	void (*fn)(void *, int, void *);
	void *stream, *arg;
};

static void call_back(void *p)
{
	struct callback *c = p;
	c->fn(c->stream, 0, c->arg);
	free(c);
}

API cuStreamAddCallback(void *stream, void (*fn)(void *, int, void *), void *arg, unsigned flags)
{
	HIT;
	struct stream *s = stream_of(stream);
	struct callback *c = malloc(sizeof *c);
	(void)flags;
	*c = (struct callback){fn, stream, arg};
	pthread_mutex_lock(&engine);
	stream_host(s, call_back, c);
	pthread_mutex_unlock(&engine);
	return OK;
}

API cuStreamAttachMemAsync(void *stream, void *p, size_t size, unsigned flags)
{
	HIT;
	(void)stream, (void)p, (void)size, (void)flags;
	return OK;
}

API cuEventCreate(struct event **e, unsigned flags)
{
	HIT;
	*e = calloc(1, sizeof **e);
	(*e)->flags = flags;
	return OK;
}

void capture_drop(struct capture *c);

API cuEventDestroy_v2(struct event *e)
{
	HIT;
	if (!e)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	stamp_drop(e->stamp);
	capture_drop(e->capture);
	pthread_mutex_unlock(&engine);
	free(e->deps);
	free(e);
	return OK;
}

static int record(struct event *e, struct stream *s)
{
	if (!e || !s)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	if (s->capture) {
		capture_record(s, e);
	} else {
		stamp_drop(e->stamp);
		e->stamp = stamp_take(s);
		capture_drop(e->capture);
		e->capture = NULL;
	}
	pthread_mutex_unlock(&engine);
	return OK;
}

API cuEventRecord(struct event *e, void *stream)
{
	HIT;
	return record(e, stream_of(stream));
}

API cuEventRecord_ptsz(struct event *e, void *stream)
{
	HIT;
	return record(e, stream_of(stream ? stream : (void *)2));
}

API cuEventRecordWithFlags(struct event *e, void *stream, unsigned flags)
{
	HIT;
	(void)flags;
	return record(e, stream_of(stream));
}

API cuEventQuery(struct event *e)
{
	HIT;
	if (!e)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	struct stamp *t = e->stamp;
	int status = e->capture	  ? CAPTURE_UNSUPPORTED
		     : !t	  ? OK
		     : !t->known || t->when > hollow_now() ? NOT_READY : OK;
	pthread_mutex_unlock(&engine);
	return status;
}

API cuEventSynchronize(struct event *e)
{
	HIT;
	if (!e)
		return INVALID_HANDLE;
	pthread_mutex_lock(&engine);
	struct stamp *t = e->stamp;
	if (t)
		t->refs++;
	pthread_mutex_unlock(&engine);
	if (!t)
		return OK;
	if (e->flags & EVENT_BLOCKING) {
		wait_by_sleeping = true;
		wait_stamp(t);
		wait_by_sleeping = false;
	} else {
		wait_stamp(t);
	}
	return OK;
}

static int elapsed(float *ms, const struct event *from, const struct event *to)
{
	if (!from || !to || (from->flags | to->flags) & EVENT_NO_TIMING || !from->stamp || !to->stamp)
		return INVALID_HANDLE;
	if (!from->stamp->known || !to->stamp->known || to->stamp->when > hollow_now())
		return NOT_READY;
	*ms = (float)((double)((int64_t)(to->stamp->when - from->stamp->when)) / 1e6);
	return OK;
}

API cuEventElapsedTime(float *ms, struct event *from, struct event *to)
{
	HIT;
	return elapsed(ms, from, to);
}

API cuEventElapsedTime_v2(float *ms, struct event *from, struct event *to)
{
	HIT;
	return elapsed(ms, from, to);
}

/* Values that another part of the device writes are visible at once: kernels compute nothing. */
API cuStreamWriteValue32_v2(void *stream, uint32_t *at, uint32_t value, unsigned flags)
{
	HIT;
	(void)stream, (void)flags;
	*at = value;
	return OK;
}

API cuStreamWaitValue32_v2(void *stream, uint32_t *at, uint32_t value, unsigned flags)
{
	HIT;
	(void)stream, (void)at, (void)value, (void)flags;
	return OK;
}
