/* Driver: stream capture and graphs. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

API cuStreamBeginCapture_v2(void *stream, int mode)
{
	HIT;
	(void)mode;
	pthread_mutex_lock(&engine);
	int status = capture_begin(stream_of(stream), NULL);
	pthread_mutex_unlock(&engine);
	return status;
}

API cuStreamBeginCaptureToGraph(void *stream, struct graph *g, struct node **deps, const void *data, size_t n, int mode)
{
	HIT;
	(void)mode, (void)data;
	struct stream *s = stream_of(stream);
	pthread_mutex_lock(&engine);
	int status = capture_begin(s, g);
	if (!status && n) {
		s->deps = realloc(s->deps, n * sizeof *s->deps);
		for (size_t i = 0; i < n; i++)
			s->deps[i] = deps[i]->index;
		s->ndeps = (uint32_t)n;
	}
	pthread_mutex_unlock(&engine);
	return status;
}

API cuStreamEndCapture(void *stream, struct graph **g)
{
	HIT;
	pthread_mutex_lock(&engine);
	int status = capture_end(stream_of(stream), g);
	pthread_mutex_unlock(&engine);
	return status;
}

API cuStreamIsCapturing(void *stream, int *status)
{
	HIT;
	struct stream *s = stream_of(stream);
	*status = s->capture ? s->capture->status : 0;
	return OK;
}

static int info(struct stream *s, int *status, unsigned long long *id, struct graph **g, struct node ***deps, size_t *n)
{
	static __thread struct node **list; /* valid until the next call, as in NVIDIA's */
	pthread_mutex_lock(&engine);
	struct capture *c = s->capture;
	*status = c ? c->status : 0;
	if (c && id)
		*id = c->id;
	if (c && g)
		*g = c->graph;
	if (c && deps) {
		list = realloc(list, (s->ndeps + 1) * sizeof *list);
		for (uint32_t i = 0; i < s->ndeps; i++)
			list[i] = c->graph->node[s->deps[i]];
		*deps = list;
	}
	if (n)
		*n = c ? s->ndeps : 0;
	pthread_mutex_unlock(&engine);
	return OK;
}

API cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, struct graph **g, struct node ***deps,
			      size_t *n)
{
	HIT;
	return info(stream_of(stream), status, id, g, deps, n);
}

API cuStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, struct graph **g, struct node ***deps,
			      const void **edges, size_t *n)
{
	HIT;
	if (edges)
		*edges = NULL;
	return info(stream_of(stream), status, id, g, deps, n);
}

static int update_dependencies(struct stream *s, struct node **deps, size_t n, unsigned flags)
{
	pthread_mutex_lock(&engine);
	if (!s->capture) {
		pthread_mutex_unlock(&engine);
		return INVALID_VALUE;
	}
	uint32_t from = flags & 1 ? 0 : s->ndeps; /* 0 adds, 1 sets */
	s->deps = realloc(s->deps, (from + n + 1) * sizeof *s->deps);
	for (size_t i = 0; i < n; i++)
		s->deps[from + i] = deps[i]->index;
	s->ndeps = from + (uint32_t)n;
	pthread_mutex_unlock(&engine);
	return OK;
}

API cuStreamUpdateCaptureDependencies(void *stream, struct node **deps, size_t n, unsigned flags)
{
	HIT;
	return update_dependencies(stream_of(stream), deps, n, flags);
}

API cuStreamUpdateCaptureDependencies_v2(void *stream, struct node **deps, const void *edges, size_t n, unsigned flags)
{
	HIT;
	(void)edges;
	return update_dependencies(stream_of(stream), deps, n, flags);
}

/* Calls that a capture forbids are not refused here, so the mode changes nothing. */
API cuThreadExchangeStreamCaptureMode(int *mode)
{
	HIT;
	static __thread int current;
	int before = current;
	current = *mode;
	*mode = before;
	return OK;
}

API cuGraphCreate(struct graph **g, unsigned flags)
{
	HIT;
	(void)flags;
	*g = graph_new();
	return OK;
}

API cuGraphDestroy(struct graph *g)
{
	HIT;
	if (!g)
		return INVALID_VALUE;
	graph_free(g);
	return OK;
}

API cuGraphClone(struct graph **out, struct graph *g)
{
	HIT;
	*out = graph_clone(g);
	return OK;
}

static int instantiate(struct graph **exec, struct graph *g)
{
	if (!g)
		return INVALID_VALUE;
	hollow_busy(settings()->alloc_ns + g->count * 1000ull); /* some 1 us a node */
	*exec = graph_clone(g);
	return OK;
}

API cuGraphInstantiateWithFlags(struct graph **exec, struct graph *g, unsigned long long flags)
{
	HIT;
	(void)flags;
	return instantiate(exec, g);
}

struct instantiate_params { /* CUDA_GRAPH_INSTANTIATE_PARAMS */
	uint64_t flags;
	void *upload_stream, *error_node;
	int result;
};

API cuGraphInstantiateWithParams(struct graph **exec, struct graph *g, struct instantiate_params *p)
{
	HIT;
	p->error_node = NULL;
	p->result = 0;
	return instantiate(exec, g);
}

API cuGraphExecDestroy(struct graph *exec)
{
	HIT;
	if (!exec)
		return INVALID_VALUE;
	graph_free(exec);
	return OK;
}

API cuGraphUpload(struct graph *exec, void *stream)
{
	HIT;
	(void)stream;
	return exec ? OK : INVALID_VALUE;
}

static int launch(struct graph *exec, struct stream *s)
{
	if (!exec)
		return INVALID_VALUE;
	hollow_busy(settings()->graph_ns);
	pthread_mutex_lock(&engine);
	if (s->capture)
		capture_add(s, NODE_CHILD)->child = exec;
	else
		graph_run(s, exec);
	pthread_mutex_unlock(&engine);
	throttle(s);
	return OK;
}

API cuGraphLaunch(struct graph *exec, void *stream)
{
	HIT;
	return launch(exec, stream_of(stream));
}

API cuGraphLaunch_ptsz(struct graph *exec, void *stream)
{
	HIT;
	return launch(exec, stream_of(stream ? stream : (void *)2));
}

struct update_info { /* CUgraphExecUpdateResultInfo; 1: error, 3: topology changed, 4: node type changed */
	int result;
	struct node *node, *from;
};

API cuGraphExecUpdate_v2(struct graph *exec, struct graph *g, struct update_info *out)
{
	HIT;
	*out = (struct update_info){0};
	if (exec->count != g->count)
		out->result = 3;
	for (uint32_t i = 0; i < g->count && !out->result; i++) {
		const struct node *a = exec->node[i], *b = g->node[i];
		if (a->kind != b->kind)
			out->result = 4;
		else if (a->ndeps != b->ndeps || memcmp(a->deps, b->deps, a->ndeps * sizeof *a->deps))
			out->result = 3;
	}
	if (out->result)
		return UPDATE_FAILURE;
	pthread_mutex_lock(&engine);
	for (uint32_t i = 0; i < g->count; i++) {
		struct node *n = exec->node[i];
		uint32_t *deps = n->deps;
		*n = *g->node[i];
		n->deps = deps;
		n->graph = exec;
	}
	pthread_mutex_unlock(&engine);
	return OK;
}
