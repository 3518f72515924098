/*
 * A libcudart whose functions that look kernels up launch one, as those of NVIDIA's load code.
 * The tracer probes the return of all of them, for the names of kernels.
 */
typedef struct {
	unsigned x, y, z;
} dim3;
static volatile int queued;
int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, unsigned long shared, void *stream)
{
	queued += grid.x;
	return 0;
}
int __cudaGetKernel(void **kernel, const void *function)
{
	dim3 one = { 1, 1, 1 };
	char room[200]; /* no small frame */
	*kernel = room;
	int ret = cudaLaunchKernel(function, one, one, kernel, 0, 0);
	*kernel = (void *)function;
	return ret;
}
int cudaGetKernel(void **out, const void *symbol)
{
	if (!symbol) /* jumps to it: one place for both returns */
		return __cudaGetKernel(out, symbol);
	int ret = __cudaGetKernel(out, symbol);
	queued += ret;
	return ret;
}
