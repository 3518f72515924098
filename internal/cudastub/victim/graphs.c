/* Faults of how work is handed to the device: graphs captured again and again, not
 * used, invalidated or never destroyed, and launches so many and so short that the device waits. */
#include <stdio.h>

#include "../stub/api.h"
#include "loop.h"

static cudaGraph_t graph;
static cudaGraphExec_t exec;

FRAME static void capture_graph(struct injection *in, struct dispatcher *d)
{
	if (exec) {
		CALLED(d, CALL_EXEC_DESTROY, 0, cudaGraphExecDestroy(exec));
		CALLED(d, CALL_GRAPH_DESTROY, 0, cudaGraphDestroy(graph));
	}
	CALLED(d, CALL_BEGIN_CAPTURE, 0, cudaStreamBeginCapture(0, 0));
	launch(d, d->run->o.launches);
	CALLED(d, CALL_END_CAPTURE, 0, cudaStreamEndCapture(0, &graph));
	slow_next("cudaGraphInstantiate", "spin", injection_ns(in));
	CALLED(d, CALL_INSTANTIATE, 0, cudaGraphInstantiate(&exec, graph, 0));
}

FRAME static void replay_graph(struct dispatcher *d)
{
	CALLED(d, CALL_GRAPH_LAUNCH, 0, cudaGraphLaunch(exec, 0));
}

/* The first capture is no fault: a graph has to come from somewhere. */
static int run_graph(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();
	int again = exec && injection_due(in, t);

	if (!exec || again)
		capture_graph(in, d);
	if (again)
		inject(in, (int64_t)(now_ns() - t));
	replay_graph(d);
	return 1;
}

const struct fault fault_graph_recapture = {
	.name = "graph-recapture", .parts = PART_LAUNCH, .self = 1, .work = run_graph,
};

/* graph-pool: a graph for each new shape, and none is ever destroyed. */
static int keep_graphs(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();
	int due = injection_due(in, t);

	if (!exec || due) {
		exec = NULL; /* forgotten, not destroyed */
		capture_graph(in, d);
	}
	if (due)
		inject(in, (int64_t)(now_ns() - t));
	replay_graph(d);
	return 1;
}

const struct fault fault_graph_pool = {
	.name = "graph-pool", .parts = PART_LAUNCH, .self = 1, .work = keep_graphs,
};

/* graph-lazy: code that runs for the first time inside a capture allocates its workspace
 * there, which a capture does not permit. The step is then done without a graph. */
static int no_allocation_in_captures(struct injection *in, struct dispatcher *d)
{
	(void)in;
	(void)d;
	return cudastub_set("cudaMalloc:no-capture");
}

FRAME static void create_workspace(struct dispatcher *d)
{
	void *workspace = NULL;

	CALLED(d, CALL_MALLOC, 4 << 20, cudaMalloc(&workspace, 4 << 20));
}

FRAME static int capture_first_use(struct dispatcher *d)
{
	CALLED(d, CALL_BEGIN_CAPTURE, 0, cudaStreamBeginCapture(0, 0));
	launch(d, d->run->o.launches / 2);
	create_workspace(d);
	return CALLED(d, CALL_END_CAPTURE, 0, cudaStreamEndCapture(0, &graph));
}

static int spoil_graph(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();

	if (!injection_due(in, t))
		return 0;
	if (!capture_first_use(d))
		return 0;
	inject(in, (int64_t)(now_ns() - t));
	return 0;
}

const struct fault fault_graph_lazy = {
	.name = "graph-lazy", .parts = PART_LAUNCH, .self = 1, .prepare = no_allocation_in_captures, .work = spoil_graph,
};

/* graph-eager: shapes for which there is no graph; one step in four has the old one. */
static int run_without_graph(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();

	if (!exec)
		capture_graph(in, d);
	if (!faulty(in) || d->steps % 4 == 0) {
		replay_graph(d);
		learn(d, &in->healthy, now_ns() - t);
		return 1;
	}
	launch(d, d->run->o.launches);
	inject(in, over_baseline(&in->healthy, now_ns() - t, 0));
	return 1;
}

const struct fault fault_graph_eager = {
	.name = "graph-eager", .parts = PART_LAUNCH, .self = 1, .work = run_without_graph,
};

/* launch-bound: the same work in pieces; the device has done each before the next comes. */
enum { PIECES = 400 };

FRAME static void forward_in_pieces(struct dispatcher *d)
{
	launch(d, PIECES);
}

static int launch_pieces(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();

	if (!faulty(in)) {
		launch(d, d->run->o.launches);
		learn(d, &in->healthy, now_ns() - t);
		return 1;
	}
	forward_in_pieces(d);
	inject(in, over_baseline(&in->healthy, now_ns() - t,
				 (uint64_t)(d->run->o.launches * d->run->o.launch_us) * NS_PER_US));
	return 1;
}

static int nothing_to_wait_for(struct injection *in, struct dispatcher *d)
{
	(void)d;
	if (faulty(in))
		cudastub_once("cudaStreamSynchronize:none");
	return 0; /* this sync is not slow */
}

const struct fault fault_launch_bound = {
	.name = "launch-bound", .parts = PART_LAUNCH | PART_SYNC, .self = 1, .work = launch_pieces,
	.before_sync = nothing_to_wait_for,
};
