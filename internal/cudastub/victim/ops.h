/* The traced functions as named operations, each called with plausible arguments. */
#ifndef VICTIM_OPS_H
#define VICTIM_OPS_H

#include "../stub/api.h"

/* What a call passes; the same for every operation that takes such a thing. */
struct call_args {
	size_t bytes;
	int kind, device;
	uintptr_t func, stream, ptr;
	unsigned grid, block;
	const char *name; /* of a kernel */
};

extern uintptr_t last_function; /* the handle that the last look-up of a kernel returned */

extern const struct call_args default_args;

struct op {
	const char *name;
	int (*call)(const struct call_args *a);
};

const struct op *find_op(const char *name);
const struct op *op_at(unsigned i); /* NULL past the end */

/* The controls of the stand-ins, called directly or, in victim-late, once loaded. */
int stub_load(void); /* victim-late only: dlopen; 0 or -1 */
void stub_unload(void);
int stub_loaded(void);
int stub_set(const char *spec);
void stub_callback(void (*fn)(void *), void *arg);
void stub_forget(void);

#endif
