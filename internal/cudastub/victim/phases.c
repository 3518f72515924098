/* Phases: times in which a healthy program does something else than its usual steps. */
#include <string.h>

#include "../stub/api.h"
#include "loop.h"

enum { EVALUATION_WAITS = 4, LONGER = 2, WARM_UP_WAITS = 3 }; /* times the usual */

/* A step's only wait takes so many times as long. */
static void wait_times(struct dispatcher *d, long times)
{
	slow_next("cudaStreamSynchronize", "sleep", (uint64_t)(d->run->o.sync_us * times) * NS_PER_US);
}

/* Has its own call sites, no backward pass, and kernels that take longer. */
FRAME static void evaluate(struct dispatcher *d)
{
	launch(d, d->run->o.launches);
	wait_times(d, EVALUATION_WAITS);
	CALLED(d, CALL_SYNC, 0, cudaStreamSynchronize(0));
}

/* The same calls, while the device is not yet at its clock and caches are empty. */
static void warm_up(struct dispatcher *d)
{
	wait_times(d, WARM_UP_WAITS);
	train_step(d);
}

/* Longer sequences: so many times the launches, and the device takes as much longer. */
static void longer(struct dispatcher *d)
{
	long usual = d->run->o.launches;

	d->run->o.launches = usual * LONGER;
	wait_times(d, LONGER);
	train_step(d);
	d->run->o.launches = usual;
}

/* Sequences of any length, from a half to one and a half times the usual. */
static void any_length(struct dispatcher *d)
{
	long usual = d->run->o.launches, launches = usual / 2 + (long)(next_random(&d->rng) % (uint64_t)(usual + 1));

	d->run->o.launches = launches;
	slow_next("cudaStreamSynchronize", "sleep",
		  (uint64_t)(d->run->o.sync_us * launches / (usual ? usual : 1)) * NS_PER_US);
	train_step(d);
	d->run->o.launches = usual;
}

/* Nothing at all. */
static void pause_steps(struct dispatcher *d)
{
	(void)d;
	sleep_until_ns(now_ns() + 20 * NS_PER_MS);
}

/* Half as many steps, because less is asked for: the program waits before each. */
static void less_to_do(struct dispatcher *d)
{
	uint64_t begin = now_ns();

	train_step(d);
	sleep_until_ns(2 * now_ns() - begin);
}

static const struct phase phases[] = {
	{"evaluation", evaluate, 1}, {"warm-up", warm_up, 1}, {"longer", longer, 1}, {"any-length", any_length, 1},
	{"pause", pause_steps, 0}, {"less", less_to_do, 1},
};

const struct phase *find_phase(const char *name)
{
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (!strcmp(name, phases[i].name))
			return &phases[i];
	return NULL;
}

/* The phase that holds at a time; NULL for usual steps. */
static const struct phase *phase_at(const struct run *r, uint64_t now)
{
	double after = (double)(now - r->start_ns) / 1e9 - r->o.phase_at;

	if (!r->o.phase || after < 0)
		return NULL;
	if (r->o.phase_every > 0)
		after -= r->o.phase_every * (double)(long)(after / r->o.phase_every);
	return !(r->o.phase_for > 0) || after < r->o.phase_for ? r->o.phase : NULL;
}

int phase_step(struct dispatcher *d)
{
	const struct phase *p = phase_at(d->run, now_ns());

	if (!p)
		return 0;
	p->step(d);
	d->steps += p->counts;
	d->phase_steps += p->counts;
	return 1;
}
