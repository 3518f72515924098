/* The engine of the hollow GPU, inside libcuda.so.1. One lock guards all of it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hollow.h"

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() __asm__ volatile("yield")
#endif

/* CUresult; cudaError_t has the same numbers. */
enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ALREADY_REGISTERED = 712,
	NOT_REGISTERED = 713,
	NOT_SUPPORTED = 801,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901,
	CAPTURE_UNMATCHED = 903,
	CAPTURE_IMPLICIT = 906,
	UPDATE_FAILURE = 910,
};

enum { MAX_SETTINGS = 512, MAX_DEPTH = 4096, MAX_DEVICES = 8 };

struct settings {
	uint64_t generation, since;
	uint64_t kernel_ns, launch_ns, latency_ns, graph_ns, load_ns, alloc_ns, free_ns, copy_ns;
	uint64_t period_every, period_for, memory;
	double slow, jitter, period_slow, drift, pinned_rate, pageable_rate, device_rate;
	uint32_t depth;
	int sm, devices, count;
	const char *key[MAX_SETTINGS], *value[MAX_SETTINGS];
};

struct func { /* CUfunction, CUkernel and cudaKernel_t */
	const char *name;
	uint64_t generation, ns;
	struct row *launched, *executed;
	void *module;
	int dynamic_shared;
	bool loaded; /* its code is on the device, since its first launch */
};

/* A time that may not be known yet. */
struct stamp {
	int refs;
	bool known;
	uint64_t when;
};

enum op_kind { OP_RUN, OP_STAMP, OP_WAIT, OP_GATE };

struct op {
	struct op *next;
	enum op_kind kind;
	uint64_t queued, ns; /* of OP_RUN: how long, before slowness if func is set */
	struct func *func;
	struct copy *copy; /* of OP_RUN behind something of unknown end: done when it is known */
	struct stamp *stamp;
	struct stream *stream;
	hollow_reached reached;
	void *arg;
	bool begun;
};

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_EMPTY, NODE_GATE, NODE_CHILD, NODE_RECORD };

struct copy { /* rows of width bytes; pitches may be anything if there is one row */
	char *to;
	const char *from;
	size_t width, height, depth, to_pitch, from_pitch, to_slice, from_slice;
	int value, element; /* of a memset: element is 1, 2 or 4 bytes */
};

struct node {
	enum node_kind kind;
	struct graph *graph;
	uint32_t index;
	struct func *func;
	uint32_t grid[3], block[3], shared;
	void **params;
	struct copy copy;
	void (*host)(void *);
	hollow_reached reached;
	void *arg;
	struct graph *child;
	struct event *event;
	uint32_t *deps, ndeps;
	uint64_t end; /* while a launch is computed */
	bool disabled;
};

struct graph {
	struct node **node;
	uint32_t count, room;
	bool outside; /* has nodes whose end depends on something outside */
};

struct capture {
	struct graph *graph;
	uint64_t id;
	int refs;
	int status; /* 1 active, 2 invalidated */
	struct stream *origin;
};

struct event {
	unsigned flags;
	struct stamp *stamp;
	struct capture *capture;
	uint32_t *deps, ndeps;
};

struct stream {
	struct stream *next;
	uint64_t id, ready;	   /* ready: when all that is queued has ended, as far as known */
	struct op *head, **tail;   /* operations after one of unknown end */
	uint32_t pending;
	uint64_t ends[MAX_DEPTH];  /* of the latest launches, a ring */
	uint64_t launches;
	unsigned flags;
	int priority, device;
	bool blocking; /* waits for the legacy stream, which also waits for it */
	struct capture *capture;
	uint32_t *deps, ndeps;
};

struct device {
	unsigned flags; /* of the context: how to wait */
	bool active;
	uint64_t used;
	struct stream legacy;
	int index;
};

extern pthread_mutex_t engine;
extern struct device devices[MAX_DEVICES];

/* settings.c, shm.c */
const struct settings *settings(void);
uint64_t settings_generation(void);
uint64_t settings_text(char *out, size_t size);
uint64_t kernel_ns(struct func *f);
double slowness(uint64_t start);

/* engine.c; those marked L want the lock held */
struct stream *stream_of(void *handle);		 /* NULL: no such stream */
struct stream *stream_new(unsigned flags, int priority);
void stream_free(struct stream *s);
uint64_t stream_run(struct stream *s, struct func *f, uint64_t ns);	 /* L; end, or 0 if unknown */
void stream_copy(struct stream *s, const struct copy *c, uint64_t ns);	 /* L; s->head is not NULL */
struct stamp *stamp_take(struct stream *s);				 /* L; refs 1 */
void stamp_drop(struct stamp *t);					 /* L */
void stream_wait(struct stream *s, struct stamp *t);			 /* L */
void stream_gate(struct stream *s, struct func *f, hollow_reached reached, void *arg); /* L */
void stream_host(struct stream *s, void (*fn)(void *), void *arg);	 /* L */
void progress(void);							 /* L */
void throttle(struct stream *s);
int device_count(void);
int current_device(void);
extern __thread int thread_device;

/* wait.c */
extern __thread bool wait_by_sleeping; /* whatever the context's flags say */
void wait_until(uint64_t when);
void wait_stamp(struct stamp *t);
void wait_stream(struct stream *s);
void wait_device(int device);
void wake_waiting(void); /* L */

/* module.c */
struct func *func_new(const char *name, void *module);

/* memory.c */
enum range_kind { RANGE_NONE, RANGE_DEVICE, RANGE_HOST, RANGE_REGISTERED, RANGE_MANAGED, RANGE_RESERVED };
struct range {
	char *at;
	size_t size;
	enum range_kind kind;
	int device;
	uint64_t id;
	unsigned flags;
};
bool range_find(const void *p, struct range *out);
void range_add(void *p, size_t size, enum range_kind kind, int device, unsigned flags);
bool range_remove(const void *p, struct range *out);
int memory_take(size_t size, enum range_kind kind, unsigned flags, void **out);
int memory_give(void *p);

/* copy.c */
void copy_now(const struct copy *c);
int copy_queue(struct stream *s, const struct copy *c, bool sync);
int set_queue(struct stream *s, const struct copy *c, bool sync);
uint64_t copy_ns(const struct copy *c, bool *pageable, bool *to_host);

/* graph.c; all want the lock held */
struct graph *graph_new(void);
void graph_free(struct graph *g);
struct graph *graph_clone(const struct graph *g);
struct node *graph_add(struct graph *g, enum node_kind kind, const uint32_t *deps, uint32_t ndeps);
struct node *capture_add(struct stream *s, enum node_kind kind);
int capture_begin(struct stream *s, struct graph *into);
int capture_end(struct stream *s, struct graph **out);
void capture_record(struct stream *s, struct event *e);
void capture_join(struct stream *s, struct event *e);
void graph_run(struct stream *s, struct graph *g);
