/* victim-ranks: a data-parallel job on one host, each rank a process. */
#ifndef VICTIM_RANKS_H
#define VICTIM_RANKS_H

#include "../stub/api.h"
#include "../stub/nccl.h"

/* libnccl's functions, looked up: it is loaded late, as by a framework. */
#define FN(name, params, ...) extern int (*name) params;
#include "../stub/nccl.def"
#undef FN

/* Every function once, with arguments that a test knows. Rank 0 and 1 of two; 0 or an error. */
int exercise(const ncclUniqueId *id, int rank);

#endif
