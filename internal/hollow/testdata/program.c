/* Tries the hollow GPU and prints what it found, one "name value" a line; hollow_test.go has
 * the right values. It includes no CUDA header: it declares the functions that it uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	unsigned x, y, z;
} dim;
typedef void *handle;

int cudaMalloc(handle *, size_t), cudaFree(handle), cudaMallocHost(handle *, size_t);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, handle);
int cudaStreamCreateWithFlags(handle *, unsigned), cudaStreamSynchronize(handle), cudaStreamQuery(handle);
int cudaStreamWaitEvent(handle, handle, unsigned), cudaDeviceSynchronize(void), cudaSetDeviceFlags(unsigned);
int cudaEventCreate(handle *), cudaEventRecord(handle, handle), cudaEventSynchronize(handle);
int cudaEventElapsedTime(float *, handle, handle), cudaGetDeviceCount(int *);
int cudaStreamBeginCapture(handle, int), cudaStreamEndCapture(handle, handle *);
int cudaGraphInstantiate(handle *, handle, unsigned long long), cudaGraphLaunch(handle, handle);
int cudaGraphGetNodes(handle, handle *, size_t *), cudaGraphExecUpdate(handle, handle, void *);
int cudaLaunchHostFunc(handle, void (*)(void *), void *);
int cudaLaunchKernel(const void *, dim, dim, void **, size_t, handle);
int __cudaGetKernel(handle *, const void *), __cudaLaunchKernel(handle, dim, dim, void **, size_t, handle);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *, void *, void *, int *);
int cuMemAddressReserve(handle *, size_t, size_t, handle, unsigned long long);
int cuMemCreate(handle *, size_t, const void *, unsigned long long), cuMemUnmap(handle, size_t);
int cuMemMap(handle, size_t, size_t, handle, unsigned long long), cuMemRelease(handle);
int cuMemSetAccess(handle, size_t, const void *, size_t), cudaMemGetInfo(size_t *, size_t *);
int cudaPointerGetAttributes(void *, const void *);
void hollow_gate_finish(void *, unsigned long long);
int hollow_gate_enqueue(handle, const char *, void (*)(void *, void *, unsigned long), void *);
unsigned long hollow_now(void);

static char quick, slow;
static const dim one = {1, 1, 1};

static void check(int error, const char *what)
{
	if (error) {
		printf("failed %s: %d\n", what, error);
		exit(1);
	}
}
#define C(call) check(call, #call)

static void launch(const void *kernel, handle stream)
{
	C(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
}

static void copies(void)
{
	char in[100000], out[100000];
	handle device, pinned;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (char)(i * 7);
	C(cudaMalloc(&device, sizeof in));
	C(cudaMallocHost(&pinned, sizeof in));
	C(cudaMemcpy(device, in, sizeof in, 1));
	C(cudaMemcpyAsync(pinned, device, sizeof in, 2, NULL));
	C(cudaMemcpy(out, device, sizeof in, 2));
	printf("copied %d\n", !memcmp(in, out, sizeof in) && !memcmp(in, pinned, sizeof in));
	C(cudaMemset(device, 5, 10));
	C(cudaMemcpy(out, device, 11, 2));
	printf("set %d\n", out[0] == 5 && out[9] == 5 && out[10] == in[10]);
	enum { LARGE = 3 << 20, BEGIN = 4001, END = LARGE - 77 };
	static char large[LARGE];
	handle more;
	size_t wrong = 0;
	C(cudaMalloc(&more, LARGE));
	C(cudaMemset(more, 5, LARGE));
	C(cudaMemset((char *)more + BEGIN, 0, END - BEGIN));
	C(cudaMemcpy(large, more, LARGE, 2));
	for (size_t i = 0; i < LARGE; i++)
		wrong += large[i] != (i < BEGIN || i >= END ? 5 : 0);
	printf("set_large_wrong %zu\n", wrong);
	C(cudaFree(more));
	int a[24]; /* cudaPointerAttributes; the type is first */
	C(cudaPointerGetAttributes(a, (char *)device + 5));
	printf("type_device %d\n", a[0]);
	C(cudaPointerGetAttributes(a, pinned));
	printf("type_pinned %d\n", a[0]);
	C(cudaPointerGetAttributes(a, in));
	printf("type_pageable %d\n", a[0]);
	C(cudaFree(device));
}

/* GPU time of ten quick kernels, of a slow one, and of two streams beside each other and one
 * after the other by an event, in us. */
static void times(void)
{
	handle a, b, begin, end, between;
	float ms;
	C(cudaStreamCreateWithFlags(&a, 1));
	C(cudaStreamCreateWithFlags(&b, 1));
	C(cudaEventCreate(&begin));
	C(cudaEventCreate(&end));
	C(cudaEventCreate(&between));
	launch(&slow, a); /* so that what is measured waits in the queue: no gaps between launches */
	C(cudaEventRecord(begin, a));
	for (int i = 0; i < 10; i++)
		launch(&quick, a);
	C(cudaEventRecord(end, a));
	printf("not_ready %d\n", cudaStreamQuery(a));
	C(cudaEventSynchronize(end));
	printf("ready %d\n", cudaStreamQuery(a));
	C(cudaEventElapsedTime(&ms, begin, end));
	printf("ten_quick_us %.0f\n", ms * 1000);

	launch(&slow, a);
	C(cudaEventRecord(begin, a));
	launch(&slow, a);
	C(cudaEventRecord(between, a));
	C(cudaStreamWaitEvent(b, between, 0));
	launch(&slow, b);
	C(cudaEventRecord(end, b));
	C(cudaDeviceSynchronize());
	C(cudaEventElapsedTime(&ms, begin, end));
	printf("one_after_the_other_us %.0f\n", ms * 1000);

	launch(&slow, a);
	C(cudaEventRecord(begin, a));
	C(cudaStreamWaitEvent(b, begin, 0));
	launch(&slow, a);
	launch(&slow, b);
	C(cudaEventRecord(end, b));
	C(cudaDeviceSynchronize());
	C(cudaEventElapsedTime(&ms, begin, end));
	printf("beside_us %.0f\n", ms * 1000);
}

static void graphs(void)
{
	handle a, b, fork, join, graph, second, exec, begin, end;
	size_t nodes = 0;
	float ms;
	char result[24];
	C(cudaStreamCreateWithFlags(&a, 1));
	C(cudaStreamCreateWithFlags(&b, 1));
	C(cudaEventCreate(&fork));
	C(cudaEventCreate(&join));
	C(cudaEventCreate(&begin));
	C(cudaEventCreate(&end));
	for (int again = 0; again < 2; again++) {
		C(cudaStreamBeginCapture(a, 0));
		launch(&quick, a);
		C(cudaEventRecord(fork, a));
		C(cudaStreamWaitEvent(b, fork, 0));
		launch(&slow, a);
		launch(&slow, b);
		C(cudaEventRecord(join, b));
		C(cudaStreamWaitEvent(a, join, 0));
		launch(&quick, a);
		C(cudaStreamEndCapture(a, again ? &second : &graph));
	}
	C(cudaGraphGetNodes(graph, NULL, &nodes));
	printf("nodes %zu\n", nodes);
	C(cudaGraphInstantiate(&exec, graph, 0));
	printf("update %d\n", cudaGraphExecUpdate(exec, second, result));
	C(cudaStreamBeginCapture(a, 0));
	launch(&quick, a);
	C(cudaStreamEndCapture(a, &second));
	printf("update_other %d\n", cudaGraphExecUpdate(exec, second, result));
	launch(&slow, a);
	C(cudaEventRecord(begin, a));
	for (int i = 0; i < 3; i++)
		C(cudaGraphLaunch(exec, a));
	C(cudaEventRecord(end, a));
	C(cudaStreamSynchronize(a));
	C(cudaEventElapsedTime(&ms, begin, end));
	printf("three_graphs_us %.0f\n", ms * 1000);
}

static int order, host_ran, gate_ran;

static void host(void *at)
{
	*(int *)at = ++order;
}

static handle gate;

static void reached(void *g, void *arg, unsigned long start)
{
	(void)arg, (void)start;
	__atomic_store_n(&gate, g, __ATOMIC_RELEASE);
}

/* Work queued after a host function, or after work of unknown end, waits for it. */
static void outside(void)
{
	handle a, b, event;
	C(cudaStreamCreateWithFlags(&a, 1));
	C(cudaStreamCreateWithFlags(&b, 1));
	C(cudaEventCreate(&event));
	launch(&slow, a);
	C(cudaLaunchHostFunc(a, host, &host_ran));
	launch(&quick, a);
	C(cudaStreamSynchronize(a));
	printf("host_function %d\n", host_ran);
	C(hollow_gate_enqueue(a, "collective", reached, NULL));
	C(cudaEventRecord(event, a));
	C(cudaStreamWaitEvent(b, event, 0));
	C(cudaLaunchHostFunc(b, host, &gate_ran));
	usleep(20000);
	printf("behind_gate_early %d\n", gate_ran);
	printf("gate_query %d\n", cudaStreamQuery(b));
	hollow_gate_finish(__atomic_load_n(&gate, __ATOMIC_ACQUIRE), hollow_now());
	C(cudaDeviceSynchronize());
	printf("behind_gate %d\n", gate_ran);
}

static void virtual_memory(void)
{
	handle at, backing;
	size_t before, during, after, total;
	int prop[8] = {1}, size = 4 << 20;
	C(cudaMemGetInfo(&before, &total));
	C(cuMemAddressReserve(&at, 32ul << 30, 0, NULL, 0));
	C(cuMemCreate(&backing, (size_t)size, prop, 0));
	C(cuMemMap(at, (size_t)size, 0, backing, 0));
	C(cuMemSetAccess(at, (size_t)size, NULL, 1));
	C(cudaMemGetInfo(&during, &total));
	C(cudaMemset(at, 1, (size_t)size));
	C(cudaDeviceSynchronize());
	C(cuMemUnmap(at, (size_t)size));
	C(cuMemRelease(backing));
	C(cudaMemGetInfo(&after, &total));
	printf("mapped_bytes %zu\n", before - during);
	printf("unmapped %d\n", after == before);
	printf("too_much %d\n", cudaMalloc(&at, total + 1));
}

int main(int argc, char **argv)
{
	int n;
	void **binary = __cudaRegisterFatBinary(NULL);
	__cudaRegisterFunction(binary, &quick, "", "quick_kernel", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, &slow, "", "slow_kernel", -1, NULL, NULL, NULL, NULL, NULL);
	C(cudaSetDeviceFlags(argc > 1 ? (unsigned)atoi(argv[1]) : 0));
	C(cudaGetDeviceCount(&n));
	printf("devices %d\n", n);
	copies();
	times();
	graphs();
	outside();
	virtual_memory();
	handle kernel;
	C(__cudaGetKernel(&kernel, &quick));
	C(__cudaLaunchKernel(kernel, one, one, NULL, 0, NULL));
	C(cudaDeviceSynchronize());
	printf("unregistered %d\n", cudaLaunchKernel("no stub", one, one, NULL, 0, NULL));
	puts("end 1");
	return 0;
}
