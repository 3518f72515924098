// A stand-in for NVIDIA's management library, with its soname, names and structures.
// Its GPUs are invented: its settings are at the end of its own file, where tests write
// them, also while it runs (cudastub.NVML). Each line is NAME=VALUE, or NAME.GPU=VALUE for
// one GPU, which goes before the line for all GPUs; the last of several equal names counts:
//
//	gpus=2  driver=535.1  util=97  temp.1=84  mem_used=…  mem_reserved=…  reasons=96  ecc_corrected=3 …
//	process=GPU:PID:BYTES     one for each process
//	xid=N:GPU:CODE            an error, once for each N
//	fail.FUNCTION=CODE        the function returns the error
//	hang.FUNCTION=1  crash.FUNCTION=1  burn.FUNCTION=MS (of CPU)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml_stub.h"

// What GPUs are unless a line of the settings says otherwise. NVML_GPUS is a file with the same
// functions for the simulated GPU (internal/hollow/src/nvml_gpus.h).
#ifdef NVML_GPUS
#include NVML_GPUS
#else
static unsigned int default_gpus(void) { return 1; }
static unsigned long long default_memory(int gpu) { (void)gpu; return 80ull << 30; }
static unsigned long long default_used(int gpu) { (void)gpu; return 0; }

static void default_name(int gpu, char *to, unsigned int length)
{
	(void)gpu;
	snprintf(to, length, "Stand-in GPU");
}

static void default_uuid(int gpu, char *to, unsigned int length)
{
	snprintf(to, length, "GPU-00000000-0000-0000-0000-%012d", gpu);
}
#endif

enum { CONFIG = 4096 };

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

// nvml_find returns the value of the last line with that name, or of the nth if that is
// not negative; null if there is none.
const char *nvml_find(const char *name, int nth)
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

unsigned long long nvml_number(const char *name, int gpu, unsigned long long otherwise)
{
	char own[96];
	snprintf(own, sizeof own, "%s.%d", name, gpu);
	const char *v = nvml_find(own, -1);
	if (!v)
		v = nvml_find(name, -1);
	return v ? strtoull(v, NULL, 0) : otherwise;
}

// burn uses so many ms of CPU.
static void burn(unsigned long long ms)
{
	struct timespec t;
	unsigned long long end = 0, now;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
		end = end ? end : now + ms;
	} while (now < end);
}

// nvml_behave does what is set for a function, and returns its error.
int nvml_behave(const char *function, int gpu)
{
	char name[96];
	settings();
	snprintf(name, sizeof name, "crash.%s", function);
	if (nvml_number(name, gpu, 0))
		__builtin_trap();
	snprintf(name, sizeof name, "hang.%s", function);
	while (nvml_number(name, gpu, 0))
		pause();
	snprintf(name, sizeof name, "burn.%s", function);
	if (nvml_number(name, gpu, 0))
		burn(nvml_number(name, gpu, 0));
	snprintf(name, sizeof name, "fail.%s", function);
	return (int)nvml_number(name, gpu, 0);
}

NVML_API int nvmlInit_v2(void)
{
	BEHAVE(0);
	return 0;
}

NVML_API const char *nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : "a stand-in's error";
}

static int put_text(const char *name, int gpu, const char *otherwise, char *to, unsigned int length)
{
	const char *v = nvml_find(name, -1);
	snprintf(to, length, v ? v : otherwise, gpu);
	return 0;
}

NVML_API int nvmlSystemGetDriverVersion(char *to, unsigned int length)
{
	BEHAVE(0);
	return put_text("driver", 0, "535.261.03", to, length);
}

NVML_API int nvmlSystemGetNVMLVersion(char *to, unsigned int length)
{
	BEHAVE(0);
	return put_text("nvml", 0, "12.535.261.03", to, length);
}

NVML_API int nvmlDeviceGetCount_v2(unsigned int *n)
{
	BEHAVE(0);
	*n = (unsigned int)nvml_number("gpus", 0, default_gpus());
	return 0;
}

NVML_API int nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *d)
{
	BEHAVE((int)i);
	*d = (nvmlDevice_t)(long)(i + 1);
	return 0;
}

// The bus is written as 0000:01:00.0 or 00000000:01:00.0.
NVML_API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *d)
{
	unsigned int domain, bus;
	BEHAVE(0);
	if (sscanf(id, "%x:%x", &domain, &bus) != 2 || bus < 1 || bus > nvml_number("gpus", 0, default_gpus()))
		return NVML_ERROR_NOT_FOUND;
	*d = (nvmlDevice_t)(long)bus;
	return 0;
}

NVML_API int nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned int length)
{
	char name[96];
	BEHAVE(gpu_of(d));
	default_name(gpu_of(d), name, sizeof name);
	return put_text("name", gpu_of(d), name, to, length);
}

NVML_API int nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned int length)
{
	char uuid[96];
	BEHAVE(gpu_of(d));
	default_uuid(gpu_of(d), uuid, sizeof uuid);
	return put_text("uuid", gpu_of(d), uuid, to, length);
}

NVML_API int nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
	BEHAVE(gpu_of(d));
	memset(pci, 0, sizeof *pci);
	pci->bus = (unsigned int)gpu_of(d) + 1;
	snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
	return 0;
}

// What the driver reserves counts as used here, and in _v2 it does not.
NVML_API int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
	BEHAVE(gpu_of(d));
	m->total = nvml_number("mem_total", gpu_of(d), default_memory(gpu_of(d)));
	m->used = nvml_number("mem_used", gpu_of(d), default_used(gpu_of(d))) + nvml_number("mem_reserved", gpu_of(d), 0);
	m->free = m->total - m->used;
	return 0;
}

NVML_API int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m)
{
	BEHAVE(gpu_of(d));
	if (m->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	m->total = nvml_number("mem_total", gpu_of(d), default_memory(gpu_of(d)));
	m->used = nvml_number("mem_used", gpu_of(d), default_used(gpu_of(d)));
	m->reserved = nvml_number("mem_reserved", gpu_of(d), 0);
	m->free = m->total - m->used - m->reserved;
	return 0;
}
