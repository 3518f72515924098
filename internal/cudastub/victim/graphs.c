/* Faults of how work is handed to the device: a graph captured again and again,
 * and launches so many and so short that the device waits for them. */
#include <stdio.h>

#include "../stub/api.h"
#include "loop.h"

static cudaGraph_t graph;
static cudaGraphExec_t exec;

FRAME static void capture_graph(struct injection *in, struct dispatcher *d)
{
	if (exec) {
		cudaGraphExecDestroy(exec);
		cudaGraphDestroy(graph);
		d->calls[CALL_EXEC_DESTROY]++;
		d->calls[CALL_GRAPH_DESTROY]++;
	}
	cudaStreamBeginCapture(0, 0);
	launch(d, d->run->o.launches);
	cudaStreamEndCapture(0, &graph);
	slow_next("cudaGraphInstantiate", "spin", injection_ns(in));
	cudaGraphInstantiate(&exec, graph, 0);
	d->calls[CALL_BEGIN_CAPTURE]++;
	d->calls[CALL_END_CAPTURE]++;
	d->calls[CALL_INSTANTIATE]++;
}

FRAME static void replay_graph(struct dispatcher *d)
{
	cudaGraphLaunch(exec, 0);
	d->calls[CALL_GRAPH_LAUNCH]++;
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
	return 0; /* quick, not slow */
}

const struct fault fault_launch_bound = {
	.name = "launch-bound", .parts = PART_LAUNCH | PART_SYNC, .self = 1, .work = launch_pieces,
	.before_sync = nothing_to_wait_for,
};
