/* libcudart over the hollow libcuda: as NVIDIA's, it calls the driver's exported functions.
 * Compiled twice, with CUDART 12 and 13. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hollow.h"

typedef struct {
	unsigned x, y, z;
} dim;

enum { OK = 0, INVALID_VALUE = 1, INVALID_DEVICE_FUNCTION = 98, NOT_READY = 600, NOT_SUPPORTED = 801 };

/* The first call of a process initialises the driver, the first of a thread its context. */
void rt_begin(void);
/* Keeps the error for cudaGetLastError; returns it. */
int rt_done(int error);
/* The kernel of a host stub, or of a cudaKernel_t; NULL: not registered. */
void *rt_kernel(const void *host);

#define BEGIN                                                                                                \
	HIT;                                                                                                 \
	rt_begin()

#define DRIVER(name, ...) VISIBLE int name(__VA_ARGS__)
