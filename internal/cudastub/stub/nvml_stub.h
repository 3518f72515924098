// What the files of the stand-in for NVIDIA's management library share.
#pragma once

#include "../../../capture/host/nvml/helper/nvml.h"

#define NVML_API __attribute__((visibility("default")))

// nvml_find returns the value of the last line with that name, or of the nth if that is not
// negative; null if there is none. Valid until the next call.
const char *nvml_find(const char *name, int nth);

unsigned long long nvml_number(const char *name, int gpu, unsigned long long otherwise);

// nvml_behave does what is set for a function, and returns its error.
int nvml_behave(const char *function, int gpu);

// Handles are numbers, from 1 on.
static inline int gpu_of(nvmlDevice_t d) { return (int)(long)d - 1; }

#define BEHAVE(gpu) \
	do { \
		int e = nvml_behave(__func__, gpu); \
		if (e) \
			return e; \
	} while (0)
