/* One training step. The function names are what a stack shows, so they are those
 * of a training program; noipa keeps each one a frame. */
#include <stdio.h>

#include "../stub/api.h"
#include "loop.h"

#define FRAME __attribute__((noipa))

int run_over(const struct run *r, const struct dispatcher *d)
{
	if (r->stop)
		return 1;
	return r->o.steps ? d->steps >= r->o.steps : now_ns() >= r->end_ns;
}

int fault_due(struct dispatcher *d, uint64_t now)
{
	uint64_t period = (uint64_t)d->run->o.period_ms * NS_PER_MS;

	if (!d->primary || now < d->run->fault_ns)
		return 0;
	if (!d->next_fault_ns)
		d->next_fault_ns = d->run->fault_ns;
	if (now < d->next_fault_ns)
		return 0;
	while (d->next_fault_ns <= now)
		d->next_fault_ns += period;
	return 1;
}

int64_t over_baseline(const struct baseline *b, uint64_t took_ns, uint64_t nominal_ns)
{
	uint64_t healthy = b->n ? b->sum_ns / (uint64_t)b->n : nominal_ns;

	return (int64_t)took_ns - (int64_t)healthy;
}

static void learn(struct dispatcher *d, struct baseline *b, uint64_t took_ns)
{
	if (d->steps < d->run->o.warmup || now_ns() >= d->run->fault_ns)
		return;
	b->sum_ns += took_ns;
	b->n++;
}

static void inject(struct dispatcher *d, int64_t lost_ns)
{
	d->injected_ns += lost_ns;
	d->fault_count++;
}

/* Makes the next call of a function on this thread take fault-ms. */
static void slow_next(const struct dispatcher *d, const char *format)
{
	char spec[128];

	snprintf(spec, sizeof(spec), format, d->run->o.fault_ms);
	cudastub_once(spec);
}

static uint64_t next_random(struct dispatcher *d)
{
	d->rng ^= d->rng << 13;
	d->rng ^= d->rng >> 7;
	d->rng ^= d->rng << 17;
	return d->rng;
}

/* Host work varies by a tenth, so that steps are no metronome. */
FRAME static void preprocess(struct dispatcher *d)
{
	uint64_t mean = (uint64_t)d->run->o.host_us * NS_PER_US;

	if (mean)
		work_ns(mean - mean / 10 + next_random(d) % (mean / 5 + 1));
}

FRAME static void load_batch(struct dispatcher *d)
{
	preprocess(d);
	cudaMemcpyAsync((void *)0x7e0000000000, d, 1 << 20, KIND_HOST_TO_DEVICE, 0);
	d->copies++;
}

FRAME static void update_metrics(struct dispatcher *d)
{
	uint64_t t = now_ns(), took;
	int fault = d->run->o.fault;

	pthread_mutex_lock(&d->run->metrics);
	took = now_ns() - t;
	pthread_mutex_unlock(&d->run->metrics);
	learn(d, &d->lock, took);
	if (d->primary && (fault == FAULT_LOCK || fault == FAULT_LOCK_IO) && t >= d->run->fault_ns)
		d->injected_ns += over_baseline(&d->lock, took, 0);
}

FRAME static void launch(struct dispatcher *d, long n)
{
	const dim3 grid = {128, 1, 1}, block = {256, 1, 1};

	for (long i = 0; i < n; i++)
		cudaLaunchKernel((void *)launch, grid, block, 0, 0, 0);
	d->launches += n;
}

/* The first launch of a step carries the slow-launch faults. */
FRAME static void forward(struct dispatcher *d, long n, int slow)
{
	uint64_t t = now_ns(), took;

	if (n > 0)
		launch(d, 1);
	took = now_ns() - t;
	if (slow)
		inject(d, over_baseline(&d->launch, took, (uint64_t)d->run->o.launch_us * NS_PER_US));
	else
		learn(d, &d->launch, took);
	if (n > 1)
		launch(d, n - 1);
}

FRAME static void backward(struct dispatcher *d, long n)
{
	launch(d, n);
}

FRAME static void wait_for_gpu(struct dispatcher *d, int slow)
{
	uint64_t t = now_ns(), took;

	cudaStreamSynchronize(0);
	d->syncs++;
	took = now_ns() - t;
	if (slow)
		inject(d, over_baseline(&d->sync, took, (uint64_t)d->run->o.sync_us * NS_PER_US));
	else
		learn(d, &d->sync, took);
}

FRAME static void save_checkpoint(struct dispatcher *d)
{
	uint64_t t = now_ns();

	write_for(d->run->o.dir, (uint64_t)d->run->o.fault_ms * NS_PER_MS);
	inject(d, (int64_t)(now_ns() - t));
}

/* Lazy module loading: the module is there, the first launch from it is slow. */
static int load_module(struct dispatcher *d)
{
	CUmodule module;

	if (d->cold_done || !d->primary || now_ns() < d->run->fault_ns)
		return 0;
	cuModuleLoadData(&module, 0);
	d->loads++;
	d->cold_done = 1;
	slow_next(d, "cudaLaunchKernel:spin=%ldms");
	return 1;
}

FRAME static void train_step(struct dispatcher *d)
{
	long n = d->run->o.launches;
	int fault = d->run->o.fault, slow_launch = 0, slow_sync = 0;

	if (fault == FAULT_COLD)
		slow_launch = load_module(d);
	else if ((fault == FAULT_OWN_IO || fault == FAULT_DRIVER_CPU || fault == FAULT_GPU) &&
		 fault_due(d, now_ns())) {
		slow_launch = fault == FAULT_DRIVER_CPU;
		slow_sync = fault == FAULT_GPU;
		if (fault == FAULT_OWN_IO)
			save_checkpoint(d);
		if (slow_launch)
			slow_next(d, "cuLaunchKernel:spin=%ldms");
		if (slow_sync)
			slow_next(d, "cudaStreamSynchronize:sleep=%ldms");
	}
	load_batch(d);
	update_metrics(d);
	forward(d, n / 2, slow_launch);
	backward(d, n - n / 2);
	wait_for_gpu(d, slow_sync);
}

void run_step(struct dispatcher *d)
{
	const struct options *o = &d->run->o;
	uint64_t t = now_ns(), nominal, took;

	if (o->fault == FAULT_THROTTLE && d->primary && t >= d->run->fault_ns)
		throttle_squeeze(d->run);
	train_step(d);
	took = now_ns() - t;
	learn(d, &d->step, took);
	nominal = (uint64_t)(o->host_us + o->memcpy_us + o->launches * o->launch_us + o->sync_us) * NS_PER_US;
	if (d->primary && t >= d->run->fault_ns && (o->fault == FAULT_CPU_HOG || o->fault == FAULT_THROTTLE))
		d->injected_ns += over_baseline(&d->step, took, nominal);
	d->steps++;
}
