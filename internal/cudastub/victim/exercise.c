#include "ranks.h"

/* The test in capture/probe/nccl has the same numbers. */
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
	ncclComm_t c, child, none, less, other, many[3];
	ncclUniqueId ids[2] = {*id};
	int answer;

	TRY(ncclCommInitRank(&c, 2, *id, rank));
	TRY(ncclAllReduce(a, b, 1000, NCCL_FLOAT, NCCL_AVG, c, s));
	TRY(ncclBroadcast(a, b, 2000, NCCL_HALF, 1, c, s));
	TRY(ncclReduce(a, b, 3000, NCCL_DOUBLE, NCCL_MAX, 1, c, s));
	TRY(ncclAllGather(a, b, 4000, NCCL_INT8, c, t));
	TRY(ncclReduceScatter(a, b, 5000, NCCL_BFLOAT16, NCCL_SUM, c, t));
	TRY(ncclBcast(b, 6000, NCCL_UINT8, 1, c, s));
	TRY(ncclAlltoAll(a, b, 70, NCCL_FLOAT, c, s));
	TRY(ncclGather(a, b, 80, NCCL_FLOAT, 1, c, s));
	TRY(ncclScatter(a, b, 90, NCCL_FLOAT, 0, c, s));
	TRY(cudaStreamSynchronize(s));
	TRY(cudaStreamSynchronize(t));
	TRY(ncclCommInitRankScalable(&other, 2, rank, 2, ids, 0));
	TRY(ncclCommSplit(c, 7, -rank, &child, 0));
	TRY(ncclCommSplit(c, rank ? -1 : 3, 0, &none, 0));
	TRY(ncclCommShrink(c, 0, 0, &less, 0, 1));
	TRY(ncclCommCount(child, &answer));
	TRY(answer != 2);
	TRY(ncclCommUserRank(child, &answer));
	TRY(answer == rank); /* the keys reverse the order of the ranks */
	TRY(ncclAllReduce(a, b, 11, NCCL_INT8, NCCL_SUM, child, s));
	TRY(ncclAllReduce(a, b, 12, NCCL_INT8, NCCL_SUM, less, s));
	TRY(ncclAllReduce(a, b, 13, NCCL_INT8, NCCL_SUM, other, s));
	TRY(cudaStreamSynchronize(s));
	TRY(ncclCommFinalize(child));
	TRY(ncclCommDestroy(child));
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
