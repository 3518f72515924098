/* The hollow NCCL: communicators of ranks that meet in shared memory. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "nvlibs.h"

/* ncclResult_t of nccl.h */
enum { SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

enum { MAX_RANKS = 16, CHUNK = 1 << 20 };

/* SEND and RECV are point-to-point; the others are collective. */
enum coll { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SEND, RECV };

struct nccl_op {
	struct nccl_op *next;
	enum coll coll;
	const char *send;
	char *recv;
	size_t count;
	int type, op, root; /* root, or the peer */
	size_t done;	    /* bytes, of a send or receive that goes on */
};

/* What is queued on a stream as one kernel: a call, or a group's calls on one communicator. */
struct work {
	struct work *next;
	struct comm *comm;
	void *stream;
	struct nccl_op *first, **last;
	bool captured; /* belongs to a graph, and is run at each launch */
};

/* One run of a work, from when the stream reached it. */
struct turn {
	struct turn *next;
	struct work *work;
	void *gate;
	uint64_t start;
};

struct box { /* of a sender and a receiver */
	uint32_t full, size;
	uint64_t start; /* when the sender's stream reached it */
};

struct barrier {
	uint32_t arrived, meeting;
};

struct region {
	struct barrier callers, proxies; /* the threads that call NCCL, those that act for them */
	uint32_t joined, posted, aborted, unused;
	uint64_t start[MAX_RANKS];
	int color[MAX_RANKS], key[MAX_RANKS];
	struct box box[MAX_RANKS][MAX_RANKS];
	char data[]; /* a chunk for each rank, then one for each box */
};

struct unique_id { /* ncclUniqueId; all bytes are random */
	char bytes[128];
};

struct comm {
	int ranks, rank, splits;
	struct unique_id id;
	struct region *region;
	size_t size;
	pthread_t proxy;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct turn *first, **last;
	int open; /* turns and works not done yet */
	bool closing;
};

/* nccl.c */
size_t type_size(int type);

/* nccl_data.c */
uint64_t run_work(struct comm *c, struct work *w, uint64_t start);
bool meet(struct comm *c, struct barrier *b);
