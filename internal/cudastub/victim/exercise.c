#include "ranks.h"

/* The test in probe/nccl has the same numbers. */
enum { STREAM = 0x5000, OTHER = 0x6000 };

#define TRY(call)          \
	do {               \
		int e = (call); \
		if (e)     \
			return e; \
	} while (0)

int exercise(const ncclUniqueId *id, int rank)
{
	cudaStream_t s = (void *)STREAM, t = (void *)OTHER;
	void *a = (void *)0x7e0000001000, *b = (void *)0x7e0000002000;
	ncclComm_t c, many[3];

	TRY(ncclCommInitRank(&c, 2, *id, rank));
	TRY(ncclAllReduce(a, b, 1000, NCCL_FLOAT, NCCL_AVG, c, s));
	TRY(ncclBroadcast(a, b, 2000, NCCL_HALF, 1, c, s));
	TRY(ncclReduce(a, b, 3000, NCCL_DOUBLE, NCCL_MAX, 1, c, s));
	TRY(ncclAllGather(a, b, 4000, NCCL_INT8, c, t));
	TRY(ncclReduceScatter(a, b, 5000, NCCL_BFLOAT16, NCCL_SUM, c, t));
	TRY(cudaStreamSynchronize(s));
	TRY(cudaStreamSynchronize(t));
	TRY(ncclGroupStart());
	TRY(ncclSend(a, 600, NCCL_INT32, !rank, c, s));
	TRY(ncclRecv(b, 600, NCCL_INT32, !rank, c, s));
	TRY(ncclGroupEnd());
	TRY(cudaDeviceSynchronize());
	if (ncclAllReduce(a, b, 1, NCCL_FLOAT, NCCL_SUM, 0, s) != NCCL_INVALID_ARGUMENT)
		return -1;
	TRY(ncclCommDestroy(c));
	TRY(ncclCommInitAll(many, 3, 0));
	TRY(ncclGroupStart());
	for (int i = 0; i < 3; i++)
		TRY(ncclAllReduce(a, b, 10, NCCL_UINT64, NCCL_MIN, many[i], s));
	TRY(ncclGroupEnd());
	TRY(cudaDeviceSynchronize());
	return ncclCommAbort(many[0]);
}
