/*
 * What the hollow libraries share. libcuda.so.1 has the engine; the others (libcudart, and
 * the generated cuBLAS, NCCL and so on) count their calls and queue work through this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VISIBLE __attribute__((visibility("default")))

/* An exported function of NVIDIA's that returns a status. The builder finds it by this word. */
#define API VISIBLE int
/* The same for one that returns something else. */
#define API_OF(type) VISIBLE type

/* What a row of the shared file counts. The numbers are in counts.go, too. */
enum { ROW_CALL = 1, ROW_LAUNCHED, ROW_EXECUTED, ROW_BYTES };

struct row {
	uint64_t hash;
	uint32_t kind;
	uint32_t name; /* offset in the file's text */
	uint64_t count;
	uint64_t ns; /* GPU time of ROW_EXECUTED */
};

/* The row of a name, made when needed. Never NULL: when the file is full, a row that
 * says so ("(no room)") is counted instead. */
VISIBLE struct row *hollow_row(uint32_t kind, const char *name);

static inline void hollow_add(struct row *r, uint64_t n)
{
	__atomic_fetch_add(&r->count, n, __ATOMIC_RELAXED);
}

/* stacks.c: whether stacks are written down, and how. */
VISIBLE extern int hollow_stacks;
VISIBLE void hollow_stack(const char *function, const void *caller);

/* Counts a call of the function it stands in. */
#define HIT                                                                                                  \
	do {                                                                                                 \
		static struct row *hit_row;                                                                  \
		struct row *r_ = __atomic_load_n(&hit_row, __ATOMIC_ACQUIRE);                                \
		if (!r_) {                                                                                   \
			r_ = hollow_row(ROW_CALL, __func__);                                                 \
			__atomic_store_n(&hit_row, r_, __ATOMIC_RELEASE);                                    \
		}                                                                                            \
		hollow_add(r_, 1);                                                                           \
		if (__builtin_expect(hollow_stacks, 0))                                                      \
			hollow_stack(__func__, __builtin_return_address(0));                                 \
	} while (0)

/* The host's CLOCK_MONOTONIC in ns: also the clock of the GPU. */
VISIBLE uint64_t hollow_now(void);

/* Uses the CPU for ns. */
VISIBLE void hollow_busy(uint64_t ns);

/* The text of a setting; out is empty if it is not set. Read at each call, as it may change. */
VISIBLE void hollow_setting(const char *key, char *out, size_t size);
/* A time (ns), size (bytes) or number of the settings; `otherwise` if it is not set. */
VISIBLE double hollow_number(const char *key, double otherwise);

/* The simulated GPUs, as libcuda and libnvidia-ml describe them. Memory is in bytes, of each GPU;
 * hollow_used is what this process uses. */
VISIBLE int hollow_devices(void);
VISIBLE uint64_t hollow_memory(void);
VISIBLE uint64_t hollow_used(int device);
VISIBLE void hollow_name(int device, char *to, size_t size);
VISIBLE void hollow_uuid(int device, unsigned char to[16]);

/* A kernel (CUfunction) by its name, for libraries that launch kernels of their own with
 * cuLaunchKernel. It is never freed; call it once for a name. */
VISIBLE void *hollow_kernel(const char *name);

/*
 * A kernel whose end is not known when it is queued, because it waits for something outside,
 * such as the other ranks of a collective operation. Once the stream has reached it, `reached`
 * is called with the time at which it began; it must neither call CUDA nor block. Later,
 * from any thread, hollow_gate_finish says when it ended (CLOCK_MONOTONIC, may be in the
 * future), and what was queued behind it goes on. If the stream is captured, `reached` is
 * called at each launch of the graph. Returns 400 (invalid handle) if there is no such stream.
 */
typedef void (*hollow_reached)(void *gate, void *arg, uint64_t start);
VISIBLE int hollow_gate_enqueue(void *stream, const char *kernel, hollow_reached reached, void *arg);
VISIBLE void hollow_gate_finish(void *gate, uint64_t end);
