// A stand-in for NVIDIA's management library, with its soname, names and structures.
// It invents GPUs: what it says of them stands at the end of its own file, where tests
// write it, also while it runs (cudastub.NVML). Each line is NAME=VALUE, or NAME.GPU=VALUE
// for one GPU; the last of several counts, and the GPU's own before that for all:
//
//	gpus=2  driver=535.1  util=97  temp.1=84  mem_used=…  reasons=96  ecc_corrected=3 …
//	process=GPU:PID:BYTES     one for each process
//	xid=N:GPU:CODE            an error, once for each N
//	fail.FUNCTION=CODE        the function returns the error
//	hang.FUNCTION=1  crash.FUNCTION=1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../host/nvml/helper/nvml.h"

#define API __attribute__((visibility("default")))

enum { CONFIG = 4096, GPUS = 16 };

static char config[CONFIG + 1];

// settings reads the end of the library's own file: CONFIG bytes that begin with a mark.
static void settings(void)
{
	Dl_info self;
	config[0] = 0;
	if (!dladdr((void *)settings, &self))
		return;
	int fd = open(self.dli_fname, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	if (size > CONFIG && pread(fd, config, CONFIG, size - CONFIG) == CONFIG)
		config[CONFIG] = 0;
	if (strncmp(config, "NVMLSTUB\n", 9) != 0)
		config[0] = 0;
	close(fd);
}

// find returns the value of the last line with that name, or of the nth if that is
// not negative; null if there is none.
static const char *find(const char *name, int nth)
{
	static char line[CONFIG];
	const char *found = NULL;
	size_t len = strlen(name);
	int lines = 0;
	for (const char *p = config; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, len) == 0 && p[len] == '=' && (nth < 0 || lines++ == nth))
			found = p + len + 1;
	}
	if (!found)
		return NULL;
	snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
	return line;
}

static unsigned long long number(const char *name, int gpu, unsigned long long otherwise)
{
	char own[96];
	snprintf(own, sizeof own, "%s.%d", name, gpu);
	const char *v = find(own, -1);
	if (!v)
		v = find(name, -1);
	return v ? strtoull(v, NULL, 0) : otherwise;
}

// behave does what is set for a function, and returns its error.
static int behave(const char *function, int gpu)
{
	char name[96];
	settings();
	snprintf(name, sizeof name, "crash.%s", function);
	if (number(name, gpu, 0))
		__builtin_trap();
	snprintf(name, sizeof name, "hang.%s", function);
	while (number(name, gpu, 0))
		pause();
	snprintf(name, sizeof name, "fail.%s", function);
	return (int)number(name, gpu, 0);
}

// Handles are numbers, from 1 on.
static int gpu_of(nvmlDevice_t d) { return (int)(long)d - 1; }

#define BEHAVE(gpu) \
	do { \
		int e = behave(__func__, gpu); \
		if (e) \
			return e; \
	} while (0)

API int nvmlInit_v2(void)
{
	BEHAVE(0);
	return 0;
}

API const char *nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : "a stand-in's error";
}

static int put_text(const char *name, int gpu, const char *otherwise, char *to, unsigned int length)
{
	const char *v = find(name, -1);
	snprintf(to, length, v ? v : otherwise, gpu);
	return 0;
}

API int nvmlSystemGetDriverVersion(char *to, unsigned int length)
{
	BEHAVE(0);
	return put_text("driver", 0, "535.261.03", to, length);
}

API int nvmlSystemGetNVMLVersion(char *to, unsigned int length)
{
	BEHAVE(0);
	return put_text("nvml", 0, "12.535.261.03", to, length);
}

API int nvmlDeviceGetCount_v2(unsigned int *n)
{
	BEHAVE(0);
	*n = (unsigned int)number("gpus", 0, 1);
	return 0;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *d)
{
	BEHAVE((int)i);
	*d = (nvmlDevice_t)(long)(i + 1);
	return 0;
}

API int nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned int length)
{
	BEHAVE(gpu_of(d));
	return put_text("name", gpu_of(d), "Stand-in GPU", to, length);
}

API int nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned int length)
{
	BEHAVE(gpu_of(d));
	return put_text("uuid", gpu_of(d), "GPU-00000000-0000-0000-0000-%012d", to, length);
}

API int nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
	BEHAVE(gpu_of(d));
	memset(pci, 0, sizeof *pci);
	pci->bus = (unsigned int)gpu_of(d) + 1;
	snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
	return 0;
}

API int nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
	BEHAVE(gpu_of(d));
	u->gpu = (unsigned int)number("util", gpu_of(d), 0);
	u->memory = (unsigned int)number("util_mem", gpu_of(d), 0);
	return 0;
}

API int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
	BEHAVE(gpu_of(d));
	m->total = number("mem_total", gpu_of(d), 80ull << 30);
	m->used = number("mem_used", gpu_of(d), 0);
	m->free = m->total - m->used;
	return 0;
}

API int nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned int *mhz)
{
	BEHAVE(gpu_of(d));
	*mhz = (unsigned int)number(type == NVML_CLOCK_SM ? "clock_sm" : "clock_mem", gpu_of(d), 345);
	return 0;
}

API int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned int *mhz)
{
	BEHAVE(gpu_of(d));
	*mhz = type == NVML_CLOCK_SM ? (unsigned int)number("max_sm", gpu_of(d), 1980) : 0;
	return 0;
}

API int nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned int *celsius)
{
	BEHAVE(gpu_of(d));
	if (sensor != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_NOT_SUPPORTED;
	*celsius = (unsigned int)number("temp", gpu_of(d), 35);
	return 0;
}

API int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *mw)
{
	BEHAVE(gpu_of(d));
	*mw = (unsigned int)number("power", gpu_of(d), 70000);
	return 0;
}

API int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *mw)
{
	BEHAVE(gpu_of(d));
	*mw = (unsigned int)number("power_limit", gpu_of(d), 700000);
	return 0;
}

// Under the name of older drivers only: so is the fallback tested.
API int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *reasons)
{
	BEHAVE(gpu_of(d));
	*reasons = number("reasons", gpu_of(d), 0);
	return 0;
}

API int nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, int type, int counter, unsigned long long *n)
{
	static const char *const names[2][2] = {{"ecc_corrected", "ecc_corrected_ever"}, {"ecc_uncorrected", "ecc_uncorrected_ever"}};
	BEHAVE(gpu_of(d));
	*n = number(names[type & 1][counter & 1], gpu_of(d), 0);
	return 0;
}

API int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *current, unsigned int *pending)
{
	BEHAVE(gpu_of(d));
	*current = *pending = (unsigned int)number("mig", gpu_of(d), 0);
	return 0;
}

API int nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t d, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
	BEHAVE(gpu_of(d));
	unsigned int n = 0;
	const char *v;
	for (int i = 0; (v = find("process", i)); i++) {
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
static int told;                  // N of the last error

API int nvmlEventSetCreate(nvmlEventSet_t *set)
{
	BEHAVE(0);
	*set = (nvmlEventSet_t)&wanted;
	return 0;
}

API int nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set)
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

API int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	(void)set;
	for (;;) {
		BEHAVE(0);
		int n, gpu, code;
		const char *v = find("xid", -1);
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
