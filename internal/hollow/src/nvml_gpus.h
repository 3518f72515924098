/* The simulated GPUs for the stand-in of NVIDIA's management library
 * (internal/cudastub/stub/nvml.c): the same values as in libcuda. */
#include <stdio.h>

#include "hollow.h"

static unsigned int default_gpus(void)
{
	return (unsigned int)hollow_devices();
}

static unsigned long long default_memory(int gpu)
{
	(void)gpu;
	return hollow_memory();
}

static unsigned long long default_used(int gpu)
{
	return hollow_used(gpu);
}

static void default_name(int gpu, char *to, unsigned int length)
{
	hollow_name(gpu, to, length);
}

static void default_uuid(int gpu, char *to, unsigned int length)
{
	unsigned char u[16];
	hollow_uuid(gpu, u);
	snprintf(to, length, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
		 u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}
