/* Types and results of NCCL, as in nccl.h of NCCL 2.x. */
#ifndef CUDASTUB_NCCL_H
#define CUDASTUB_NCCL_H

#include "row.h"

typedef struct {
	char internal[128];
} ncclUniqueId;

typedef struct nccl_comm *ncclComm_t;

enum { /* ncclResult_t */
	NCCL_SYSTEM_ERROR = 2,
	NCCL_INVALID_ARGUMENT = 4,
	NCCL_INVALID_USAGE = 5,
};

enum { NCCL_INT8, NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64, NCCL_HALF, NCCL_FLOAT, NCCL_DOUBLE,
       NCCL_BFLOAT16, NCCL_TYPES = 12 };                              /* ncclDataType_t */
enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN, NCCL_AVG };           /* ncclRedOp_t */

#endif
