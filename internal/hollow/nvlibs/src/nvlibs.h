/*
 * What the hollow cuBLAS, cuDNN and so on share. Their functions compute nothing: those that
 * would use the GPU launch one kernel, named after the function, with cuLaunchKernel.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hollow.h"

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);

/* What a library handle points to; it holds only the stream. */
struct handle {
	void *stream;
	int math_mode, pointer_mode;
};

/* Launches the kernel of the given name; 0, or the library's status for a failed launch. */
static inline int nvlibs_launch(void **cache, const char *kernel, void *stream, int failed)
{
	void *f = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
	if (!f) {
		f = hollow_kernel(kernel);
		__atomic_store_n(cache, f, __ATOMIC_RELEASE);
	}
	return f && !cuLaunchKernel(f, 64, 1, 1, 256, 1, 1, 0, stream, NULL, NULL) ? 0 : failed;
}

#define LAUNCH(kernel, stream, failed)                                                                       \
	({                                                                                                   \
		static void *kernel_;                                                                        \
		nvlibs_launch(&kernel_, kernel, stream, failed);                                             \
	})

static inline int nvlibs_new(void **out, size_t size, int no_memory)
{
	*out = calloc(1, size < 16 ? 16 : size);
	return *out ? 0 : no_memory;
}
