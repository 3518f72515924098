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

static const char *const call_names[CALLS] = {
	[CALL_LAUNCH] = "cudaLaunchKernel", [CALL_COPY_ASYNC] = "cudaMemcpyAsync",
	[CALL_SYNC] = "cudaStreamSynchronize", [CALL_MODULE] = "cuModuleLoadData", [CALL_MALLOC] = "cudaMalloc",
	[CALL_FREE] = "cudaFree", [CALL_COPY] = "cudaMemcpy", [CALL_BEGIN_CAPTURE] = "cudaStreamBeginCapture",
	[CALL_END_CAPTURE] = "cudaStreamEndCapture", [CALL_INSTANTIATE] = "cudaGraphInstantiate",
	[CALL_GRAPH_LAUNCH] = "cudaGraphLaunch", [CALL_GRAPH_DESTROY] = "cudaGraphDestroy",
	[CALL_EXEC_DESTROY] = "cudaGraphExecDestroy",
};

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
	static struct made sum[CALLS];
	int first = 1, nested = r->o.nested;
	const char *comma = "";

	for (int i = 0; i < n; i++)
		for (int c = 0; c < CALLS; c++)
			add_made(&sum[c], &d[i].made[c]);
	printf("\"calls\":{");
	for (int c = 0; c < CALLS; c++)
		print_call(call_names[c], sum[c].n, &first);
	print_call("cuLaunchKernel", r->driver_launches ? sum[CALL_LAUNCH].n : 0, &first);
	print_call("cuMemcpyHtoDAsync_v2", nested ? sum[CALL_COPY_ASYNC].n : 0, &first);
	print_call("cuStreamSynchronize", nested ? sum[CALL_SYNC].n : 0, &first);
	printf("},\"made\":{");
	for (int c = 0; c < CALLS; c++) {
		if (!sum[c].n)
			continue;
		printf("%s", comma);
		print_made(call_names[c], &sum[c]);
		comma = ",";
	}
	printf("},");
}

static void print_who(const char *role, const struct who *w)
{
	char key[32];

	printf("\"%s_pid\":%d,\"%s_tid\":%d,", role, w->pid, role, w->tid);
	snprintf(key, sizeof(key), "%s_comm", role);
	print_string(key, w->comm);
}

/* Since 1970; 0 if it never struck. */
static uint64_t first_strike(const struct injection *in)
{
	if (in->first_ns || !in->count)
		return in->first_ns;
	return unix_ns() - now_ns() + in->run->fault_ns;
}

static void print_threads(const struct dispatcher *d, int n)
{
	printf(",\"threads\":[");
	for (int i = 0; i < n; i++)
		printf("%s{\"tid\":%d,\"steps\":%ld,\"cpu_ns\":%llu,\"runnable_ns\":%llu}", i ? "," : "", d[i].tid,
		       d[i].steps, (unsigned long long)d[i].cpu_ns, (unsigned long long)d[i].runnable_ns);
	printf("]");
}

static void print_crowd(const struct injection *in)
{
	if (!in->n_crowd)
		return;
	for (int i = 0; i < in->n_crowd; i++)
		printf("%s%d", i ? "," : "\"culprit_pids\":[", in->crowd[i]);
	printf("],");
}

static void print_injection(const struct injection *in)
{
	print_string("fault", in->fault->name);
	print_who("culprit", &in->culprit);
	print_who("holder", &in->holder);
	print_who("peer", &in->peer);
	print_crowd(in);
	printf("\"fault_count\":%ld,\"first_ns\":%llu,\"injected_ns\":%lld", in->count,
	       (unsigned long long)first_strike(in), (long long)in->injected_ns);
}

void print_truth(const struct run *r, const struct dispatcher *d, int n, double seconds)
{
	const struct truth *t = &r->truth;
	long steps = 0, phase_steps = 0;

	for (int i = 0; i < n; i++) {
		steps += d[i].steps;
		phase_steps += d[i].phase_steps;
	}
	printf("{\"pid\":%d,\"tid\":%d,", getpid(), t->tid);
	print_string("comm", t->comm);
	printf("\"main_ns\":%llu,\"began_ns\":%llu,\"steps\":%ld,\"phase_steps\":%ld,\"seconds\":%.6f,\"steps_per_s\":%.3f,",
	       (unsigned long long)r->main_ns, (unsigned long long)r->began_ns, steps, phase_steps, seconds,
	       seconds > 0 ? (double)steps / seconds : 0.0);
	print_calls(r, d, n);
	print_injection(&r->in[0]);
	if (r->n_injections > 1) {
		printf(",\"also\":{");
		print_injection(&r->in[1]);
		printf("}");
	}
	printf(",\"idle_ns\":%llu,\"leaked_bytes\":%llu,\"major_faults\":%ld,", (unsigned long long)t->idle_ns,
	       (unsigned long long)t->leaked_bytes, t->major_faults);
	printf("\"client_pid\":%d,", t->client_pid);
	print_string("cgroup", t->cgroup);
	printf("\"involuntary_switches\":%ld,\"voluntary_switches\":%ld,\"cpu_ns\":%llu,\"runnable_ns\":%llu", t->involuntary,
	       t->voluntary, (unsigned long long)d->cpu_ns, (unsigned long long)d->runnable_ns);
	print_threads(d, n);
	printf("}\n");
	fflush(stdout);
}
