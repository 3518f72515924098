/* Compares the management library's values for each GPU with the driver's. */
#include <stdio.h>
#include <string.h>

int cuInit(unsigned), cuDeviceGetCount(int *), cuDeviceGetName(char *, int, int), cuDeviceGetUuid_v2(unsigned char *, int);
int cuDeviceGetPCIBusId(char *, int, int), cuDeviceTotalMem_v2(size_t *, int), cuMemAlloc_v2(void **, size_t);
int cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int nvmlInit_v2(void), nvmlDeviceGetCount_v2(unsigned *), nvmlDeviceGetHandleByPciBusId_v2(const char *, void **);
int nvmlDeviceGetName(void *, char *, unsigned), nvmlDeviceGetUUID(void *, char *, unsigned);
int nvmlDeviceGetMemoryInfo(void *, unsigned long long *);

int main(void)
{
	int n, alike = 0;
	unsigned m;
	void *context, *memory;
	if (cuInit(0) || nvmlInit_v2() || cuDeviceGetCount(&n) || nvmlDeviceGetCount_v2(&m))
		return 1;
	if (cuDevicePrimaryCtxRetain(&context, 1) || cuCtxSetCurrent(context) || cuMemAlloc_v2(&memory, 1 << 20))
		return 1;
	for (int i = 0; i < n; i++) {
		char name[96], other[96], bus[32], uuid[96], want[96] = "GPU-";
		unsigned char id[16];
		unsigned long long bytes[3]; /* total, free, used */
		size_t total;
		void *gpu;
		cuDeviceGetName(name, sizeof name, i);
		cuDeviceGetUuid_v2(id, i);
		cuDeviceGetPCIBusId(bus, sizeof bus, i);
		cuDeviceTotalMem_v2(&total, i);
		for (int k = 0; k < 16; k++)
			sprintf(want + strlen(want), "%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", id[k]);
		if (nvmlDeviceGetHandleByPciBusId_v2(bus, &gpu) || nvmlDeviceGetName(gpu, other, sizeof other) ||
		    nvmlDeviceGetUUID(gpu, uuid, sizeof uuid) || nvmlDeviceGetMemoryInfo(gpu, bytes))
			return 1;
		alike += !strcmp(name, other) && !strcmp(uuid, want) && bytes[0] == total &&
			 bytes[2] == (i == 1 ? 1 << 20 : 0) && bytes[1] == total - bytes[2];
	}
	printf("gpus %u\nalike %d\nunknown %d\n", m, alike, nvmlDeviceGetHandleByPciBusId_v2("0000:09:00.0", &memory));
	return 0;
}
