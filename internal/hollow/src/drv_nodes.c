/* Driver: the nodes of graphs. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

API cuGraphGetNodes(struct graph *g, struct node **nodes, size_t *n)
{
	HIT;
	if (nodes)
		memcpy(nodes, g->node, (*n < g->count ? *n : g->count) * sizeof *nodes);
	*n = g->count;
	return OK;
}

API cuGraphGetRootNodes(struct graph *g, struct node **nodes, size_t *n)
{
	HIT;
	size_t found = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->node[i]->ndeps)
			continue;
		if (nodes && found < *n)
			nodes[found] = g->node[i];
		found++;
	}
	*n = found;
	return OK;
}

API cuGraphNodeGetType(struct node *n, int *type)
{
	HIT;
	/* CUgraphNodeType: kernel, memcpy, memset, host, empty; a gate is a kernel; child graph; event record */
	static const int types[] = {0, 1, 2, 3, 5, 0, 4, 7};
	*type = types[n->kind];
	return OK;
}

API cuGraphNodeSetEnabled(struct graph *exec, struct node *n, unsigned enabled)
{
	HIT;
	if (n->index >= exec->count)
		return INVALID_VALUE;
	exec->node[n->index]->disabled = !enabled;
	return OK;
}

struct kernel_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
	struct func *f;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	struct func *kernel;
	void *ctx;
};

API cuGraphKernelNodeGetParams_v2(struct node *n, struct kernel_params *p)
{
	HIT;
	if (n->kind != NODE_KERNEL)
		return INVALID_VALUE;
	*p = (struct kernel_params){.f = n->func, .shared = n->shared, .params = n->params};
	memcpy(p->grid, n->grid, sizeof p->grid);
	memcpy(p->block, n->block, sizeof p->block);
	return OK;
}

static int set_kernel(struct node *n, const struct kernel_params *p)
{
	if (n->kind != NODE_KERNEL)
		return INVALID_VALUE;
	n->func = p->f ? p->f : p->kernel;
	n->shared = p->shared;
	n->params = p->params;
	memcpy(n->grid, p->grid, sizeof n->grid);
	memcpy(n->block, p->block, sizeof n->block);
	return OK;
}

API cuGraphKernelNodeSetParams_v2(struct node *n, const struct kernel_params *p)
{
	HIT;
	return set_kernel(n, p);
}

API cuGraphExecKernelNodeSetParams_v2(struct graph *exec, struct node *n, const struct kernel_params *p)
{
	HIT;
	return n->index < exec->count ? set_kernel(exec->node[n->index], p) : INVALID_VALUE;
}

static struct node *add(struct graph *g, struct node *const *deps, size_t n, enum node_kind kind)
{
	uint32_t *index = malloc((n + 1) * sizeof *index);
	for (size_t i = 0; i < n; i++)
		index[i] = deps[i]->index;
	struct node *node = graph_add(g, kind, index, (uint32_t)n);
	free(index);
	return node;
}

API cuGraphAddKernelNode_v2(struct node **out, struct graph *g, struct node *const *deps, size_t n,
			    const struct kernel_params *p)
{
	HIT;
	*out = add(g, deps, n, NODE_KERNEL);
	return set_kernel(*out, p);
}

API cuGraphAddEmptyNode(struct node **out, struct graph *g, struct node *const *deps, size_t n)
{
	HIT;
	*out = add(g, deps, n, NODE_EMPTY);
	return OK;
}

static int add_child(struct node **out, struct graph *g, struct node *const *deps, size_t n, struct graph *child)
{
	*out = add(g, deps, n, NODE_CHILD);
	(*out)->child = graph_clone(child);
	g->outside |= child->outside;
	return OK;
}

API cuGraphAddChildGraphNode(struct node **out, struct graph *g, struct node *const *deps, size_t n,
			     struct graph *child)
{
	HIT;
	return add_child(out, g, deps, n, child);
}

struct host_params { /* CUDA_HOST_NODE_PARAMS */
	void (*fn)(void *);
	void *arg;
};

static int add_host(struct node **out, struct graph *g, struct node *const *deps, size_t n, const struct host_params *p)
{
	*out = add(g, deps, n, NODE_HOST);
	(*out)->host = p->fn;
	(*out)->arg = p->arg;
	return OK;
}

API cuGraphAddHostNode(struct node **out, struct graph *g, struct node *const *deps, size_t n,
		       const struct host_params *p)
{
	HIT;
	return add_host(out, g, deps, n, p);
}

struct node_params { /* CUgraphNodeParams: the type's own begin at its byte 16 */
	int type, reserved[3];
	union {
		struct kernel_params kernel;
		struct host_params host;
		struct graph *child;
	};
};

API cuGraphAddNode_v2(struct node **out, struct graph *g, struct node *const *deps, const void *edges, size_t n,
		      const struct node_params *p)
{
	HIT;
	(void)edges;
	switch (p->type) { /* as in cuGraphNodeGetType */
	case 0:
		*out = add(g, deps, n, NODE_KERNEL);
		return set_kernel(*out, &p->kernel);
	case 3:
		return add_host(out, g, deps, n, &p->host);
	case 4:
		return add_child(out, g, deps, n, p->child);
	case 5:
		*out = add(g, deps, n, NODE_EMPTY);
		return OK;
	}
	return 801; /* CUDA_ERROR_NOT_SUPPORTED: no program here adds nodes of other types this way */
}
