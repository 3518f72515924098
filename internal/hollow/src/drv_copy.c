/* Driver: copies and fills. */
#include <string.h>

#include "engine.h"

static int linear(void *stream, void *to, const void *from, size_t n, bool sync)
{
	if (!n)
		return OK;
	if (!to || !from)
		return INVALID_VALUE;
	struct copy c = {.to = to, .from = from, .width = n, .height = 1, .depth = 1};
	return copy_queue(stream_of(stream), &c, sync);
}

API cuMemcpyHtoD_v2(void *to, const void *from, size_t n)
{
	HIT;
	return linear(NULL, to, from, n, true);
}

API cuMemcpyDtoH_v2(void *to, const void *from, size_t n)
{
	HIT;
	return linear(NULL, to, from, n, true);
}

/* The host does not wait for a copy within a device. */
API cuMemcpyDtoD_v2(void *to, const void *from, size_t n)
{
	HIT;
	return linear(NULL, to, from, n, false);
}

API cuMemcpy(void *to, const void *from, size_t n)
{
	HIT;
	return linear(NULL, to, from, n, true);
}

API cuMemcpyPeer(void *to, void *to_ctx, const void *from, void *from_ctx, size_t n)
{
	HIT;
	(void)to_ctx, (void)from_ctx;
	return linear(NULL, to, from, n, true);
}

API cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n, void *stream)
{
	HIT;
	return linear(stream, to, from, n, false);
}

API cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n, void *stream)
{
	HIT;
	return linear(stream, to, from, n, false);
}

API cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t n, void *stream)
{
	HIT;
	return linear(stream, to, from, n, false);
}

API cuMemcpyAsync(void *to, const void *from, size_t n, void *stream)
{
	HIT;
	return linear(stream, to, from, n, false);
}

API cuMemcpyPeerAsync(void *to, void *to_ctx, const void *from, void *from_ctx, size_t n, void *stream)
{
	HIT;
	(void)to_ctx, (void)from_ctx;
	return linear(stream, to, from, n, false);
}

struct copy2d { /* CUDA_MEMCPY2D; types: 1 host, 2 device, 3 array, 4 unified */
	size_t from_x, from_y;
	unsigned from_type;
	const char *from_host, *from_device;
	void *from_array;
	size_t from_pitch, to_x, to_y;
	unsigned to_type;
	char *to_host, *to_device;
	void *to_array;
	size_t to_pitch, width, height;
};

static int plane(void *stream, const struct copy2d *d, bool sync)
{
	if (d->from_type == 3 || d->to_type == 3)
		return NOT_SUPPORTED;
	const char *from = d->from_type == 1 ? d->from_host : d->from_device;
	char *to = d->to_type == 1 ? d->to_host : d->to_device;
	size_t from_pitch = d->from_pitch ? d->from_pitch : d->width, to_pitch = d->to_pitch ? d->to_pitch : d->width;
	struct copy c = {.to = to + d->to_y * to_pitch + d->to_x, .from = from + d->from_y * from_pitch + d->from_x,
			 .width = d->width, .height = d->height, .depth = 1, .to_pitch = to_pitch,
			 .from_pitch = from_pitch};
	return c.width && c.height ? copy_queue(stream_of(stream), &c, sync) : OK;
}

API cuMemcpy2D_v2(const struct copy2d *d)
{
	HIT;
	return plane(NULL, d, true);
}

API cuMemcpy2DUnaligned_v2(const struct copy2d *d)
{
	HIT;
	return plane(NULL, d, true);
}

API cuMemcpy2DAsync_v2(const struct copy2d *d, void *stream)
{
	HIT;
	return plane(stream, d, false);
}

struct copy3d { /* CUDA_MEMCPY3D */
	size_t from_x, from_y, from_z, from_lod;
	unsigned from_type;
	const char *from_host, *from_device;
	void *from_array, *unused_from;
	size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
	unsigned to_type;
	char *to_host, *to_device;
	void *to_array, *unused_to;
	size_t to_pitch, to_height, width, height, depth;
};

static int volume(void *stream, const struct copy3d *d, bool sync)
{
	if (d->from_type == 3 || d->to_type == 3)
		return NOT_SUPPORTED;
	const char *from = d->from_type == 1 ? d->from_host : d->from_device;
	char *to = d->to_type == 1 ? d->to_host : d->to_device;
	size_t from_slice = d->from_pitch * d->from_height, to_slice = d->to_pitch * d->to_height;
	struct copy c = {.to = to + d->to_z * to_slice + d->to_y * d->to_pitch + d->to_x,
			 .from = from + d->from_z * from_slice + d->from_y * d->from_pitch + d->from_x,
			 .width = d->width, .height = d->height, .depth = d->depth, .to_pitch = d->to_pitch,
			 .from_pitch = d->from_pitch, .to_slice = to_slice, .from_slice = from_slice};
	return c.width && c.height && c.depth ? copy_queue(stream_of(stream), &c, sync) : OK;
}

API cuMemcpy3D_v2(const struct copy3d *d)
{
	HIT;
	return volume(NULL, d, true);
}

API cuMemcpy3DAsync_v2(const struct copy3d *d, void *stream)
{
	HIT;
	return volume(stream, d, false);
}

static int fill(void *stream, void *to, size_t pitch, unsigned value, int element, size_t width, size_t height, bool sync)
{
	if (!width || !height)
		return OK;
	if (!to)
		return INVALID_VALUE;
	struct copy c = {.to = to, .width = width * (size_t)element, .height = height, .depth = 1, .to_pitch = pitch,
			 .value = (int)value, .element = element};
	return set_queue(stream_of(stream), &c, sync);
}

API cuMemsetD8_v2(void *to, unsigned char value, size_t n)
{
	HIT;
	return fill(NULL, to, 0, value, 1, n, 1, false);
}

API cuMemsetD16_v2(void *to, unsigned short value, size_t n)
{
	HIT;
	return fill(NULL, to, 0, value, 2, n, 1, false);
}

API cuMemsetD32_v2(void *to, unsigned value, size_t n)
{
	HIT;
	return fill(NULL, to, 0, value, 4, n, 1, false);
}

API cuMemsetD2D8_v2(void *to, size_t pitch, unsigned char value, size_t width, size_t height)
{
	HIT;
	return fill(NULL, to, pitch, value, 1, width, height, false);
}

API cuMemsetD8Async(void *to, unsigned char value, size_t n, void *stream)
{
	HIT;
	return fill(stream, to, 0, value, 1, n, 1, false);
}

API cuMemsetD16Async(void *to, unsigned short value, size_t n, void *stream)
{
	HIT;
	return fill(stream, to, 0, value, 2, n, 1, false);
}

API cuMemsetD32Async(void *to, unsigned value, size_t n, void *stream)
{
	HIT;
	return fill(stream, to, 0, value, 4, n, 1, false);
}

API cuMemsetD2D8Async(void *to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream)
{
	HIT;
	return fill(stream, to, pitch, value, 1, width, height, false);
}
