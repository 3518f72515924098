/* cuFFT: plans are small numbers. */
#include "nvlibs.h"

enum { PLANS = 4096, INVALID_PLAN = 1, EXEC_FAILED = 6 };

static void *streams[PLANS];
static int plans;

API cufftCreate(int *plan)
{
	HIT;
	*plan = __atomic_add_fetch(&plans, 1, __ATOMIC_RELAXED);
	return *plan < PLANS ? 0 : INVALID_PLAN;
}

API cufftDestroy(int plan)
{
	HIT;
	return 0;
}

API cufftSetStream(int plan, void *stream)
{
	HIT;
	if (plan <= 0 || plan >= PLANS)
		return INVALID_PLAN;
	streams[plan] = stream;
	return 0;
}

API cufftSetAutoAllocation(int plan, int on)
{
	HIT;
	return 0;
}

API cufftSetWorkArea(int plan, void *area)
{
	HIT;
	return 0;
}

API cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
			long long idist, int in, long long *onembed, long long ostride, long long odist,
			int out, long long batch, size_t *workspace, int exec)
{
	HIT;
	*workspace = 0;
	return 0;
}

API cufftXtExec(int plan, void *in, void *out, int direction)
{
	HIT;
	if (plan <= 0 || plan >= PLANS)
		return INVALID_PLAN;
	return LAUNCH("hollow_fft", streams[plan], EXEC_FAILED);
}
