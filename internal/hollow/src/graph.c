/* Graphs: nodes with dependencies, captured from streams or added one by one. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static uint64_t last_capture;

struct graph *graph_new(void)
{
	return calloc(1, sizeof(struct graph));
}

void graph_free(struct graph *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		free(g->node[i]->deps);
		free(g->node[i]);
	}
	free(g->node);
	free(g);
}

static uint32_t *copied(const uint32_t *deps, uint32_t n)
{
	uint32_t *d = malloc((n ? n : 1) * sizeof *d);
	if (n)
		memcpy(d, deps, n * sizeof *d);
	return d;
}

struct node *graph_add(struct graph *g, enum node_kind kind, const uint32_t *deps, uint32_t ndeps)
{
	struct node *n = calloc(1, sizeof *n);
	n->kind = kind;
	n->graph = g;
	n->index = g->count;
	n->deps = copied(deps, ndeps);
	n->ndeps = ndeps;
	if (g->count == g->room) {
		g->room = g->room ? g->room * 2 : 64;
		g->node = realloc(g->node, g->room * sizeof(struct node *));
	}
	g->node[g->count++] = n;
	if (kind == NODE_HOST || kind == NODE_GATE)
		g->outside = true;
	return n;
}

struct graph *graph_clone(const struct graph *g)
{
	struct graph *c = graph_new();
	for (uint32_t i = 0; i < g->count; i++) {
		struct node *from = g->node[i], *to = graph_add(c, from->kind, from->deps, from->ndeps);
		uint32_t *deps = to->deps;
		*to = *from;
		to->deps = deps;
		to->graph = c;
	}
	c->outside = g->outside;
	return c;
}

static void drop(struct capture *c)
{
	if (c && --c->refs == 0)
		free(c);
}

int capture_begin(struct stream *s, struct graph *into)
{
	if (s->capture)
		return CAPTURE_UNMATCHED;
	if (s->id == 1)
		return CAPTURE_UNSUPPORTED;
	struct capture *c = calloc(1, sizeof *c);
	c->graph = into ? into : graph_new();
	c->id = ++last_capture;
	c->refs = 1;
	c->status = 1;
	c->origin = s;
	s->capture = c;
	s->ndeps = 0;
	return OK;
}

struct node *capture_add(struct stream *s, enum node_kind kind)
{
	struct node *n = graph_add(s->capture->graph, kind, s->deps, s->ndeps);
	s->deps = realloc(s->deps, sizeof *s->deps);
	s->deps[0] = n->index;
	s->ndeps = 1;
	return n;
}

void capture_record(struct stream *s, struct event *e)
{
	drop(e->capture);
	e->capture = s->capture;
	e->capture->refs++;
	free(e->deps);
	e->deps = copied(s->deps, s->ndeps);
	e->ndeps = s->ndeps;
}

/* The stream waits for a captured event: what it does from now on is part of the capture. */
void capture_join(struct stream *s, struct event *e)
{
	if (!s->capture) {
		s->capture = e->capture;
		s->capture->refs++;
		s->ndeps = 0;
	}
	for (uint32_t i = 0; i < e->ndeps; i++) {
		bool there = false;
		for (uint32_t j = 0; j < s->ndeps; j++)
			there |= s->deps[j] == e->deps[i];
		if (there)
			continue;
		s->deps = realloc(s->deps, (s->ndeps + 1) * sizeof *s->deps);
		s->deps[s->ndeps++] = e->deps[i];
	}
}

void captures_leave(struct capture *c); /* stream.c: all streams that have joined */

int capture_end(struct stream *s, struct graph **out)
{
	struct capture *c = s->capture;
	*out = NULL;
	if (!c || c->origin != s)
		return CAPTURE_UNMATCHED;
	int status = c->status;
	if (status == 1)
		*out = c->graph;
	c->status = 0;
	captures_leave(c);
	return status == 1 ? OK : CAPTURE_INVALIDATED;
}

void capture_drop(struct capture *c)
{
	drop(c);
}

/* When a graph that begins at the given time ends: its longest path. */
static uint64_t end_of(struct graph *g, uint64_t start)
{
	uint64_t last = start;
	for (uint32_t i = 0; i < g->count; i++) {
		struct node *n = g->node[i];
		uint64_t at = start;
		bool pageable, to_host;
		for (uint32_t d = 0; d < n->ndeps; d++)
			if (g->node[n->deps[d]]->end > at)
				at = g->node[n->deps[d]]->end;
		n->end = at;
		if (n->disabled)
			continue;
		switch (n->kind) {
		case NODE_KERNEL: {
			uint64_t ns = (uint64_t)((double)kernel_ns(n->func) * slowness(at));
			hollow_add(n->func->executed, 1);
			__atomic_fetch_add(&n->func->executed->ns, ns, __ATOMIC_RELAXED);
			n->end += ns;
			break;
		}
		case NODE_COPY:
		case NODE_SET:
			n->end += copy_ns(&n->copy, &pageable, &to_host);
			copy_now(&n->copy);
			break;
		case NODE_CHILD:
			n->end = end_of(n->child, at);
			break;
		default:
			break;
		}
		if (n->end > last)
			last = n->end;
	}
	return last;
}

/* A node's end depends on something outside the graph: the nodes are queued one by one. */
static void run_in_order(struct stream *s, struct graph *g)
{
	bool pageable, to_host;
	for (uint32_t i = 0; i < g->count; i++) {
		struct node *n = g->node[i];
		if (n->disabled)
			continue;
		switch (n->kind) {
		case NODE_KERNEL:
			stream_run(s, n->func, 0);
			break;
		case NODE_COPY:
		case NODE_SET:
			stream_run(s, NULL, copy_ns(&n->copy, &pageable, &to_host));
			copy_now(&n->copy);
			break;
		case NODE_HOST:
			stream_host(s, n->host, n->arg);
			break;
		case NODE_GATE:
			stream_gate(s, n->func, n->reached, n->arg);
			break;
		case NODE_CHILD:
			run_in_order(s, n->child);
			break;
		default:
			break;
		}
	}
}

void graph_run(struct stream *s, struct graph *g)
{
	if (g->outside || s->head) {
		run_in_order(s, g);
		return;
	}
	uint64_t start = hollow_now() + settings()->latency_ns;
	if (s->ready > start)
		start = s->ready;
	stream_run(s, NULL, 0);
	s->ready = end_of(g, start);
	s->ends[(s->launches - 1) % MAX_DEPTH] = s->ready;
}
