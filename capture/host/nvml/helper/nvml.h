// What the helper needs of NVIDIA's management library: names, numbers and layouts of
// its documented C interface. Source: nvml.h of the CUDA toolkit 11.8 (Debian's
// libnvidia-ml-dev 11.8.86), and https://docs.nvidia.com/deploy/nvml-api for what
// came later. The layouts are the same on both architectures.
#ifndef NVML_H
#define NVML_H

#include <stdint.h>

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;

// nvmlReturn_t, an enum.
enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_TIMEOUT = 10,
	NVML_ERROR_FUNCTION_NOT_FOUND = 13,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_ERROR_UNKNOWN = 999,
};

enum { NVML_TEMPERATURE_GPU = 0 };                                                   // nvmlTemperatureSensors_t
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };                                      // nvmlClockType_t
enum { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 }; // nvmlMemoryErrorType_t
enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };                              // nvmlEccCounterType_t
enum { NVML_DEVICE_MIG_ENABLE = 1 };

#define nvmlEventTypeXidCriticalError 0x8ull
#define NVML_VALUE_NOT_AVAILABLE (~0ull)

typedef struct {
	unsigned int gpu, memory; // percent
} nvmlUtilization_t;

typedef struct {
	unsigned long long total, free, used; // bytes
} nvmlMemory_t;

// Of nvmlDeviceGetMemoryInfo_v2, with its version: NVML_STRUCT_VERSION(Memory, 2).
typedef struct {
	unsigned int version;
	unsigned long long total, reserved, free, used; // bytes
} nvmlMemory_v2_t;

#define NVML_MEMORY_V2 ((unsigned int)(sizeof(nvmlMemory_v2_t) | 2 << 24))

// Of nvmlDeviceGetComputeRunningProcesses and of its _v2.
typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory; // bytes
} nvmlProcessInfo_v1_t;

typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory; // bytes
	unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;

typedef struct {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct {
	nvmlDevice_t device;
	unsigned long long eventType, eventData; // eventData: the Xid
	unsigned int gpuInstanceId, computeInstanceId; // not set by nvmlEventSetWait without _v2
} nvmlEventData_t;

_Static_assert(sizeof(nvmlUtilization_t) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(nvmlMemory_t) == 24, "nvmlMemory_t");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(nvmlProcessInfo_v1_t) == 16, "nvmlProcessInfo_v1_t");
_Static_assert(sizeof(nvmlProcessInfo_v2_t) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(nvmlEventData_t) == 32, "nvmlEventData_t");

#endif
