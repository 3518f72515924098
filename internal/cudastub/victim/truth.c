#include <stdio.h>
#include <unistd.h>

#include "loop.h"

static void print_string(const char *key, const char *s)
{
	printf("\"%s\":\"", key);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	printf("\",");
}

static void print_call(const char *name, long n, int *first)
{
	if (n)
		printf("%s\"%s\":%ld", *first ? "" : ",", name, n);
	if (n)
		*first = 0;
}

/* Every traced call of the process, those that the stand-ins make themselves included. */
static void print_calls(const struct run *r, const struct dispatcher *d, int n)
{
	long launches = 0, copies = 0, syncs = 0, loads = 0;
	int first = 1, nested = r->o.nested;

	for (int i = 0; i < n; i++) {
		launches += d[i].launches;
		copies += d[i].copies;
		syncs += d[i].syncs;
		loads += d[i].loads;
	}
	printf("\"calls\":{");
	print_call("cudaLaunchKernel", launches, &first);
	print_call("cudaMemcpyAsync", copies, &first);
	print_call("cudaStreamSynchronize", syncs, &first);
	print_call("cuModuleLoadData", loads, &first);
	print_call("cuLaunchKernel", nested || r->o.fault == FAULT_DRIVER_CPU ? launches : 0, &first);
	print_call("cuMemcpyHtoDAsync_v2", nested ? copies : 0, &first);
	print_call("cuStreamSynchronize", nested ? syncs : 0, &first);
	printf("},");
}

void print_truth(const struct run *r, const struct dispatcher *d, int n, double seconds)
{
	const struct truth *t = &r->truth;
	long steps = 0;

	for (int i = 0; i < n; i++)
		steps += d[i].steps;
	printf("{\"pid\":%d,\"tid\":%d,", getpid(), t->tid);
	print_string("comm", t->comm);
	printf("\"steps\":%ld,\"seconds\":%.6f,\"steps_per_s\":%.3f,", steps, seconds,
	       seconds > 0 ? (double)steps / seconds : 0.0);
	print_calls(r, d, n);
	print_string("fault", fault_name(r->o.fault));
	printf("\"fault_count\":%ld,\"injected_ns\":%lld,\"idle_ns\":%llu,", t->fault_count,
	       (long long)t->injected_ns, (unsigned long long)t->idle_ns);
	printf("\"culprit_pid\":%d,\"culprit_tid\":%d,", t->culprit_pid, t->culprit_tid);
	print_string("culprit_comm", t->culprit_comm);
	printf("\"holder_tid\":%d,", t->holder_tid);
	print_string("holder_comm", t->holder_comm);
	printf("\"client_pid\":%d,", t->client_pid);
	print_string("cgroup", t->cgroup);
	printf("\"involuntary_switches\":%ld,\"voluntary_switches\":%ld,\"cpu_ns\":%llu}\n", t->involuntary,
	       t->voluntary, (unsigned long long)t->cpu_ns);
	fflush(stdout);
}
