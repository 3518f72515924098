/* Faults of the device: what the host sees of them is a longer wait for it. */
#include <stdio.h>

#include "../stub/api.h"
#include "loop.h"

static int slow_kernel(struct injection *in, struct dispatcher *d)
{
	(void)d;
	return injection_due(in, now_ns()) && slow_next("cudaStreamSynchronize", "sleep", injection_ns(in));
}

const struct fault fault_gpu = {.name = "gpu", .parts = PART_SYNC, .before_sync = slow_kernel};

/* gpu-trend: the wait grows evenly, by fault-ms at the end of the run. A run that goes on for
 * --min-steps keeps the longest: steps that grew with it would never be enough. */
static int slower_every_step(struct injection *in, struct dispatcher *d)
{
	const struct run *r = d->run;
	uint64_t now = now_ns(), length = r->end_ns > r->fault_ns ? r->end_ns - r->fault_ns : 1, grown, more;

	if (now < r->fault_ns)
		return 0;
	grown = now - r->fault_ns < length ? now - r->fault_ns : length;
	more = (uint64_t)((double)injection_ns(in) * (double)grown / (double)length);
	return slow_next("cudaStreamSynchronize", "sleep", (uint64_t)r->o.sync_us * NS_PER_US + more);
}

const struct fault fault_gpu_trend = {.name = "gpu-trend", .parts = PART_SYNC, .before_sync = slower_every_step};

/* gpu-peer: another process uses the same device in bursts of fault-ms, one a
 * period. Both know from the clock when a burst is on. */
enum { SHARE = 4 }; /* the device is that much slower while it is shared */

static int in_burst(const struct run *r, uint64_t now)
{
	uint64_t period = (uint64_t)r->o.period_ms * NS_PER_MS;

	return now >= r->fault_ns && (now - r->fault_ns) % period < (uint64_t)r->o.fault_ms * NS_PER_MS;
}

FRAME static void render_frame(const struct run *r)
{
	const dim3 grid = {64, 1, 1}, block = {128, 1, 1};

	for (long i = 0; i < r->o.launches; i++)
		cudaLaunchKernel((void *)render_frame, grid, block, 0, 0, 0);
	cudaStreamSynchronize(0);
}

static void use_gpu(struct run *r, void *arg)
{
	uint64_t period = (uint64_t)r->o.period_ms * NS_PER_MS;

	(void)arg;
	for (uint64_t burst = r->fault_ns;; burst += period) {
		sleep_until_ns(burst);
		while (in_burst(r, now_ns()))
			render_frame(r);
	}
}

static int start_gpu_peer(struct injection *in, struct dispatcher *d)
{
	pid_t pid = start_child(in->run, in->name, PIN_NONE, use_gpu, NULL);

	(void)d;
	in->culprit = a_process(pid, in->name);
	return pid > 0 ? 0 : refuse("cannot start a process");
}

static int share_gpu(struct injection *in, struct dispatcher *d)
{
	const struct run *r = d->run;

	(void)in;
	return in_burst(r, now_ns()) &&
	       slow_next("cudaStreamSynchronize", "sleep", (uint64_t)r->o.sync_us * SHARE * NS_PER_US);
}

const struct fault fault_gpu_peer = {
	.name = "gpu-peer", .culprit = "render-worker", .parts = PART_SYNC, .prepare = start_gpu_peer,
	.before_sync = share_gpu,
};
