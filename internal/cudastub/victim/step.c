/* One training step, and the faults that are a slow call or a slow section in it. */
#include <stdio.h>

#include "../stub/api.h"
#include "kernels.h"
#include "loop.h"

int run_over(const struct run *r, const struct dispatcher *d)
{
	if (r->stop)
		return 1;
	return r->o.steps ? d->steps >= r->o.steps : now_ns() >= r->end_ns && d->steps >= r->o.min_steps;
}

int slow_next(const char *function, const char *how, uint64_t ns)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "%s:%s=%lluns", function, how, (unsigned long long)ns);
	return cudastub_once(spec) == 0;
}

/* Host work varies by up to a tenth, so that steps do not all take the same time. */
FRAME static void preprocess(struct dispatcher *d)
{
	uint64_t mean = (uint64_t)d->run->o.host_us * NS_PER_US;

	if (mean)
		work_ns(mean - mean / 10 + next_random(&d->rng) % (mean / 5 + 1));
}

FRAME static void load_batch(struct dispatcher *d)
{
	preprocess(d);
	CALLED(d, CALL_COPY_ASYNC, 1 << 20, cudaMemcpyAsync((void *)0x7e0000000000, d, 1 << 20, KIND_HOST_TO_DEVICE, 0));
}

FRAME static void update_metrics(struct dispatcher *d)
{
	struct injection *in = d->primary ? injection_of(d->run, PART_METRICS) : NULL;
	uint64_t t = now_ns(), took;

	pthread_mutex_lock(&d->run->metrics);
	took = now_ns() - t;
	pthread_mutex_unlock(&d->run->metrics);
	if (!in)
		return;
	learn(d, &in->healthy, took);
	if (t >= d->run->fault_ns)
		in->injected_ns += over_baseline(&in->healthy, took, 0);
}

FRAME void launch(struct dispatcher *d, long n)
{
	const dim3 grid = {128, 1, 1}, block = {256, 1, 1};

	for (long i = 0; i < n; i++)
		CALLED(d, CALL_LAUNCH, 0, cudaLaunchKernel((void *)kernel_softmax, grid, block, 0, 0, 0));
}

/* The first launch of a step carries the slow-launch faults. */
FRAME static void forward(struct dispatcher *d, long n, struct injection *slow)
{
	uint64_t t = now_ns(), took;

	if (n > 0)
		launch(d, 1);
	took = now_ns() - t;
	if (slow)
		inject(slow, over_baseline(&d->launch, took, (uint64_t)d->run->o.launch_us * NS_PER_US));
	else
		learn(d, &d->launch, took);
	if (n > 1)
		launch(d, n - 1);
}

FRAME static void backward(struct dispatcher *d, long n)
{
	launch(d, n);
}

FRAME static void wait_for_gpu(struct dispatcher *d, struct injection *slow)
{
	uint64_t t = now_ns(), took;

	CALLED(d, CALL_SYNC, 0, cudaStreamSynchronize(0));
	took = now_ns() - t;
	if (slow)
		inject(slow, over_baseline(&d->sync, took, (uint64_t)d->run->o.sync_us * NS_PER_US));
	else
		learn(d, &d->sync, took);
}

/* Waits beside the one at the end of the step, as for a value that the program looks at. */
FRAME static void read_value(struct dispatcher *d)
{
	for (long i = 1; i < d->run->o.syncs; i++)
		CALLED(d, CALL_SYNC, 0, cudaStreamSynchronize(0));
}

/* The step's launches, by the loop itself or by a fault that does them in its own way. */
static void do_work(struct dispatcher *d)
{
	long n = d->run->o.launches;
	struct injection *slow = NULL;

	for (int i = 0; d->primary && i < d->run->n_injections; i++) {
		struct injection *in = &d->run->in[i];

		if (in->fault->work && in->fault->work(in, d))
			return;
		if (in->fault->before_launch && in->fault->before_launch(in, d))
			slow = in;
	}
	forward(d, n / 2, slow);
	read_value(d);
	backward(d, n - n / 2);
}

/*
 * Every --validate steps one validation, which counts as a step: the same launches, and a longer
 * wait, from another call site, as for kernels that take longer.
 */
#define VALIDATION_TIMES 20
FRAME static void validate(struct dispatcher *d)
{
	const struct options *o = &d->run->o;

	if (!o->validate || (d->steps + 1) % o->validate)
		return;
	launch(d, o->launches);
	slow_next("cudaStreamSynchronize", "sleep", (uint64_t)o->sync_us * VALIDATION_TIMES * NS_PER_US);
	CALLED(d, CALL_SYNC, 0, cudaStreamSynchronize(0));
	d->steps++;
}

FRAME void train_step(struct dispatcher *d)
{
	struct run *r = d->run;
	struct injection *slow = NULL;

	for (int i = 0; d->primary && i < r->n_injections; i++)
		if (r->in[i].fault->host)
			r->in[i].fault->host(&r->in[i], d);
	load_batch(d);
	update_metrics(d);
	do_work(d);
	for (int i = 0; d->primary && i < r->n_injections; i++)
		if (r->in[i].fault->before_sync && r->in[i].fault->before_sync(&r->in[i], d))
			slow = &r->in[i];
	wait_for_gpu(d, slow);
	validate(d);
}

/* What the faults other than in have injected so far. */
static int64_t injected_by_others(const struct run *r, const struct injection *in)
{
	int64_t sum = 0;

	for (int i = 0; i < r->n_injections; i++)
		if (&r->in[i] != in)
			sum += r->in[i].injected_ns;
	return sum;
}

/* If a fault takes the CPU away, only the excess of the whole step is known. */
void run_step(struct dispatcher *d)
{
	const struct options *o = &d->run->o;
	struct injection *in = d->primary ? injection_of(d->run, PART_CPU) : NULL;
	int64_t others = in ? injected_by_others(d->run, in) : 0;
	uint64_t t = now_ns(), nominal, took;

	if (phase_step(d))
		return;
	train_step(d);
	took = now_ns() - t;
	learn(d, &d->step, took);
	nominal = (uint64_t)(o->host_us + o->memcpy_us + o->launches * o->launch_us + o->syncs * o->sync_us) * NS_PER_US;
	if (in && t >= d->run->fault_ns)
		in->injected_ns += over_baseline(&d->step, took, nominal) - (injected_by_others(d->run, in) - others);
	d->steps++;
}

FRAME static void save_checkpoint(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();

	if (!injection_due(in, t))
		return;
	write_for(d->run->o.dir, injection_ns(in));
	inject(in, (int64_t)(now_ns() - t));
}

const struct fault fault_own_io = {.name = "own-io", .self = 1, .host = save_checkpoint};

/* driver-cpu spins inside the driver's function, so every launch must reach it. */
static int reach_driver(struct injection *in, struct dispatcher *d)
{
	char spec[64];

	(void)d;
	in->run->driver_launches = 1;
	snprintf(spec, sizeof(spec), "cudaLaunchKernel:spin=%ldus,nested", in->run->o.launch_us);
	return cudastub_set(spec);
}

static int slow_driver(struct injection *in, struct dispatcher *d)
{
	(void)d;
	return injection_due(in, now_ns()) && slow_next("cuLaunchKernel", "spin", injection_ns(in));
}

const struct fault fault_driver_cpu = {
	.name = "driver-cpu", .parts = PART_LAUNCH, .self = 1, .prepare = reach_driver, .before_launch = slow_driver,
};

/* Lazy module loading: the module is there, the first launch from it is slow. */
static int load_module(struct injection *in, struct dispatcher *d)
{
	CUmodule module;

	if (in->count || !faulty(in))
		return 0;
	CALLED(d, CALL_MODULE, 0, cuModuleLoadData(&module, 0));
	return slow_next("cudaLaunchKernel", "spin", injection_ns(in));
}

const struct fault fault_cold = {.name = "cold", .parts = PART_LAUNCH, .self = 1, .before_launch = load_module};
