/* 300 steps, each in a range that is named after it, if it is asked for. */
#include "nvtx.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern int cudaEventRecord(void *event, void *stream), cudaStreamSynchronize(void *stream);

int main(int argc, char **argv)
{
	int marks = argc > 1 && !strcmp(argv[1], "with");
	uint64_t epoch = marks ? nvtxRangeStartA("epoch") : 0;

	for (int i = 0; i < 300; i++) {
		char step[32];

		snprintf(step, sizeof step, "step %d", i);
		if (marks) {
			nvtxRangePushA(step);
			nvtxRangePushA("forward");
		}
		usleep(1000);
		cudaEventRecord(NULL, NULL);
		cudaEventRecord(NULL, NULL);
		if (marks) {
			nvtxRangePop();
			nvtxMarkA("queued");
		}
		usleep(1000);
		cudaStreamSynchronize(NULL);
		if (marks)
			nvtxRangePop();
	}
	if (marks)
		nvtxRangeEnd(epoch);
	return 0;
}
