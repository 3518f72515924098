/* Behaviour of the stand-in functions: what one call costs and returns.
 *
 * A behaviour is a list of items:
 *
 *   cudaLaunchKernel:spin=5us,nested;cudaStreamSynchronize:sleep=500us
 *
 *   spin=T       use the CPU for T; time spent descheduled does not count
 *   sleep=T      block in clock_nanosleep for T
 *   poll=T       block in ppoll with timeout T
 *   per-live=T   use the CPU for T for each allocation that was not freed yet
 *   copy         really read the bytes to be copied, as from pageable memory
 *   err=N        return error N
 *   err-every=K  ... only on every K-th call
 *   no-capture   during a stream capture of this thread: invalidate it, return error 900
 *   nested       call the matching driver function first
 *   recurse=N    call itself through the PLT, N deep; the innermost call does the rest
 *   callback     run the function given to cudastub_callback inside the call
 *   none         nothing (also the meaning of an empty list)
 *
 * T is a number with ns, us, ms or s (ns without a unit). A list replaces the
 * earlier one of that function. The name "*" stands for every function.
 *
 * Behaviour lives in libcuda.so.1, because every other library here links to it:
 * one table per library is registered there by that library's constructor. */
#ifndef CUDASTUB_BEHAVE_H
#define CUDASTUB_BEHAVE_H

#include <stdatomic.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))

struct behaviour {
	uint64_t spin_ns, sleep_ns, poll_ns, per_live_ns;
	uint32_t recurse, err_every;
	int err;
	uint8_t nested, callback, copy, no_capture;
};

/* One exported function. */
struct stub_row {
	const char *name;
	const char *driver;   /* "no_driver" or "no_driver_*": there is nothing to nest */
	_Atomic uint32_t set; /* non-zero: leave the cheap path */
	_Atomic uint32_t calls; /* counted on the slow path only, for err-every */
	struct behaviour b;
};

struct stub_table {
	struct stub_row *rows;
	unsigned n;
	struct stub_table *next;
};

/* One slow call: the behaviour as it was when the call began. */
struct stub_call {
	struct behaviour b;
	uint64_t begin_ns;
	int outermost;
};

enum { TODO_RECURSE = 1, TODO_NEST = 2 };

/* For programs that use the stand-ins. All return 0, or -1 if spec is wrong. */
API int cudastub_set(const char *spec);
API int cudastub_once(const char *spec); /* the next call of that function on this thread */
API void cudastub_callback(void (*fn)(void *), void *arg);
API void cudastub_forget(void); /* this thread jumped out of a call */
API uint64_t cudastub_inside_ns(void); /* how long this thread's last call with a behaviour took within the
                                        * function; 0 if there was none since it was asked last */

/* For the libraries. */
API void cudastub_register(struct stub_table *table);
API uint32_t cudastub_enter(struct stub_row *row, struct stub_call *call);
API int cudastub_finish(struct stub_row *row, struct stub_call *call, uint32_t todo, int err);
API unsigned long long cudastub_fresh(size_t size); /* an address or handle never given before */
API unsigned long long cudastub_alloc(size_t size); /* the same for memory that is freed one day */
API void cudastub_free(void);
API void cudastub_copy(const struct stub_call *call, const void *src, size_t n); /* if the behaviour says so */

/* The stream capture that this thread is making, if any. The calls need not match: a begin
 * during a capture starts a new one, and an end without a begin returns a graph. */
API void cudastub_capture_begin(uintptr_t stream);
API int cudastub_capture_end(void **graph);
API int cudastub_capture_status(uintptr_t stream); /* a cudaStreamCaptureStatus */

/* What a stream waits for beside its own work: libnccl's collectives, until the last
 * rank has entered. Calls that wait for a stream, or for all of them, ask it. */
typedef void stub_wait(uintptr_t stream, int all);
API void cudastub_on_sync(stub_wait *wait);
API void cudastub_sync(uintptr_t stream, int all);

#endif
