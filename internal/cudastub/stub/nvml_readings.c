// The stand-in for NVIDIA's management library, continued: readings of GPUs that are taken once a
// second, invented for tests. The simulated GPU (internal/hollow) has none of them.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "nvml_stub.h"

NVML_API int nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
	BEHAVE(gpu_of(d));
	u->gpu = (unsigned int)nvml_number("util", gpu_of(d), 0);
	u->memory = (unsigned int)nvml_number("util_mem", gpu_of(d), 0);
	return 0;
}

NVML_API int nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned int *mhz)
{
	BEHAVE(gpu_of(d));
	*mhz = (unsigned int)nvml_number(type == NVML_CLOCK_SM ? "clock_sm" : "clock_mem", gpu_of(d), 345);
	return 0;
}

NVML_API int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned int *mhz)
{
	BEHAVE(gpu_of(d));
	*mhz = type == NVML_CLOCK_SM ? (unsigned int)nvml_number("max_sm", gpu_of(d), 1980) : 0;
	return 0;
}

NVML_API int nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned int *celsius)
{
	BEHAVE(gpu_of(d));
	if (sensor != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_NOT_SUPPORTED;
	*celsius = (unsigned int)nvml_number("temp", gpu_of(d), 35);
	return 0;
}

NVML_API int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *mw)
{
	BEHAVE(gpu_of(d));
	*mw = (unsigned int)nvml_number("power", gpu_of(d), 70000);
	return 0;
}

NVML_API int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *mw)
{
	BEHAVE(gpu_of(d));
	*mw = (unsigned int)nvml_number("power_limit", gpu_of(d), 700000);
	return 0;
}

// Only the name that older drivers have, so that the fallback to it is tested.
NVML_API int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *reasons)
{
	BEHAVE(gpu_of(d));
	*reasons = nvml_number("reasons", gpu_of(d), 0);
	return 0;
}

NVML_API int nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, int type, int counter, unsigned long long *n)
{
	static const char *const names[2][2] = {{"ecc_corrected", "ecc_corrected_ever"}, {"ecc_uncorrected", "ecc_uncorrected_ever"}};
	BEHAVE(gpu_of(d));
	*n = nvml_number(names[type & 1][counter & 1], gpu_of(d), 0);
	return 0;
}

NVML_API int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *current, unsigned int *pending)
{
	BEHAVE(gpu_of(d));
	*current = *pending = (unsigned int)nvml_number("mig", gpu_of(d), 0);
	return 0;
}

NVML_API int nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t d, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
	BEHAVE(gpu_of(d));
	unsigned int n = 0;
	const char *v;
	for (int i = 0; (v = nvml_find("process", i)); i++) {
		int gpu, pid;
		unsigned long long bytes;
		if (sscanf(v, "%d:%d:%llu", &gpu, &pid, &bytes) != 3 || gpu != gpu_of(d))
			continue;
		if (n < *count)
			infos[n] = (nvmlProcessInfo_v2_t){(unsigned int)pid, bytes, ~0u, ~0u};
		n++;
	}
	int fits = n <= *count;
	*count = n;
	return fits ? 0 : NVML_ERROR_INSUFFICIENT_SIZE;
}

static unsigned long long wanted; // GPUs whose errors are waited for, as bits
static int told;                  // N of the last error that was seen

NVML_API int nvmlEventSetCreate(nvmlEventSet_t *set)
{
	BEHAVE(0);
	*set = (nvmlEventSet_t)&wanted;
	return 0;
}

NVML_API int nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set)
{
	BEHAVE(gpu_of(d));
	if (types != nvmlEventTypeXidCriticalError || (void *)set != (void *)&wanted)
		return NVML_ERROR_NOT_SUPPORTED;
	wanted |= 1ull << gpu_of(d);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

NVML_API int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	(void)set;
	for (;;) {
		BEHAVE(0);
		int n, gpu, code;
		const char *v = nvml_find("xid", -1);
		if (v && sscanf(v, "%d:%d:%d", &n, &gpu, &code) == 3 && n != told) {
			told = n;
			if (wanted >> gpu & 1) {
				*data = (nvmlEventData_t){(nvmlDevice_t)(long)(gpu + 1), nvmlEventTypeXidCriticalError, (unsigned long long)code, ~0u, ~0u};
				return 0;
			}
		}
		uint64_t now = now_ns();
		if (now >= end)
			return NVML_ERROR_TIMEOUT;
		nanosleep(&(struct timespec){.tv_nsec = (long)(end - now < 10000000 ? end - now : 10000000)}, NULL);
	}
}
