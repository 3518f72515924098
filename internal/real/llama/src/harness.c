/*
 * A program that serves tokens with llama.cpp, through libllama's C interface, and tells the
 * truth about itself: it prints one JSON object at its end (cudastub.Truth, and when each step
 * ended, "ends", and when the other thread began to take the lock, "since": ns, CLOCK_MONOTONIC).
 * It waits for the end of its standard input before the CUDA libraries are loaded.
 *
 *   harness LIBRARIES MODEL [--mode decode|prompt|serve] [--seconds S] [--tokens N] [--seed N]
 *           [--lock-ms MS --period-ms MS --start-after S] [--pin CPU]
 *
 * decode: one token after the other. prompt: prompts of 256 tokens. serve: requests that come
 * after pauses, each a prompt and some tokens. --lock-ms: another thread holds a lock for so
 * long, once each period, which each step takes. --tokens ends the run by count, --seconds by
 * time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * What is used of libllama. Parameters are taken as the library gives them: a structure of
 * this size is passed in memory, of which the library reads its own part from the start.
 */
struct params {
	char bytes[1024];
};
struct batch {
	int32_t n_tokens;
	int32_t *token;
	float *embd;
	int32_t *pos;
	int32_t *n_seq_id;
	int32_t **seq_id;
	int8_t *logits;
};
void ggml_backend_load_all_from_path(const char *dir);
void llama_log_set(void (*log)(int level, const char *text, void *user), void *user);
void llama_backend_init(void);
void llama_backend_free(void);
struct params llama_model_default_params(void);
struct params llama_context_default_params(void);
void *llama_model_load_from_file(const char *path, struct params p);
void *llama_init_from_model(void *model, struct params p);
void llama_model_free(void *model);
void llama_free(void *context);
struct batch llama_batch_get_one(int32_t *tokens, int32_t n);
int llama_decode(void *context, struct batch b);
float *llama_get_logits_ith(void *context, int32_t i);
void *llama_get_memory(void *context);
void llama_memory_clear(void *memory, bool data);
uint32_t llama_n_ctx(void *context);
const void *llama_model_get_vocab(void *model);
int32_t llama_vocab_n_tokens(const void *vocab);

static struct {
	const char *mode;
	double seconds;
	long tokens;
	unsigned seed;
	double lock_ms, period_ms, start_after;
} opt = {.mode = "decode", .seconds = 5, .seed = 1, .start_after = 1};

static volatile sig_atomic_t ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t holder;
static uint64_t injected; /* ns waited for the lock */
static long struck;
static uint64_t since; /* the lock is taken */
static uint64_t ends[1 << 20];

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void quiet(int level, const char *text, void *user)
{
	(void)user;
	if (level == 4) /* errors */
		fputs(text, stderr);
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "harness: %s\n", what);
	exit(1);
}

/* The other thread: works on a CPU with the lock held. */
static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "kv-compactor");
	__atomic_store_n(&holder, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	uint64_t next = since = now() + (uint64_t)(opt.start_after * 1e9);
	while (!ended) {
		struct timespec t = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		pthread_mutex_lock(&lock);
		for (uint64_t until = now() + (uint64_t)(opt.lock_ms * 1e6); now() < until;)
			;
		pthread_mutex_unlock(&lock);
		next += (uint64_t)(opt.period_ms * 1e6);
	}
	return unused;
}

/* Takes the lock, as each step does, and adds up the times longer than a ms. */
static void guarded(void)
{
	uint64_t began = now();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	uint64_t took = now() - began;
	if (took > 1000000) {
		injected += took;
		struck++;
	}
}

static int32_t best(const float *logits, int32_t n)
{
	int32_t at = 0;
	for (int32_t i = 1; i < n; i++)
		if (logits[i] > logits[at])
			at = i;
	return at;
}

static void *context;
static int32_t vocabulary;
static int32_t used; /* tokens in the context */
static long tokens;
static uint64_t until; /* 0: opt.tokens counts */

static bool over(void)
{
	return ended || (opt.tokens ? tokens >= opt.tokens : now() >= until);
}

/* Has the tokens decoded and returns the next one. */
static int32_t step(int32_t *list, int32_t n)
{
	if (used + n > (int32_t)llama_n_ctx(context)) {
		llama_memory_clear(llama_get_memory(context), true);
		used = 0;
	}
	guarded();
	if (llama_decode(context, llama_batch_get_one(list, n)))
		fail("llama_decode failed");
	used += n;
	const float *logits = llama_get_logits_ith(context, -1);
	if (!logits)
		fail("there are no logits");
	if (tokens < (long)(sizeof(ends) / sizeof(*ends)))
		ends[tokens] = now();
	tokens++;
	return best(logits, vocabulary);
}

static int32_t prompt(int32_t n)
{
	int32_t list[256];
	for (int32_t i = 0; i < n; i++)
		list[i] = (int32_t)(rand_r(&opt.seed) % (unsigned)vocabulary);
	return step(list, n);
}

static void decode(int32_t n)
{
	int32_t t = prompt(16);
	for (int32_t i = 0; i < n && !over(); i++)
		t = step(&t, 1);
}

static void serve(void)
{
	struct timespec pause = {0, (long)(5 + rand_r(&opt.seed) % 120) * 1000000};
	nanosleep(&pause, NULL);
	decode((int32_t)(10 + rand_r(&opt.seed) % 60));
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("there is no such CPU to run on");
}

static void options(int argc, char **argv)
{
	for (int i = 3; i + 1 < argc; i += 2) {
		const char *name = argv[i], *value = argv[i + 1];
		if (!strcmp(name, "--mode"))
			opt.mode = value;
		else if (!strcmp(name, "--seconds"))
			opt.seconds = atof(value);
		else if (!strcmp(name, "--tokens"))
			opt.tokens = atol(value);
		else if (!strcmp(name, "--seed"))
			opt.seed = (unsigned)atol(value);
		else if (!strcmp(name, "--lock-ms"))
			opt.lock_ms = atof(value);
		else if (!strcmp(name, "--period-ms"))
			opt.period_ms = atof(value);
		else if (!strcmp(name, "--start-after"))
			opt.start_after = atof(value);
		else if (!strcmp(name, "--pin"))
			pin(atoi(value));
		else
			fail("there is no such option; harness.c lists them");
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		fail("usage: harness LIBRARIES MODEL [options]");
	options(argc, argv);
	for (int c; (c = getchar()) != EOF;)
		;
	struct sigaction act = {.sa_handler = end};
	sigaction(SIGTERM, &act, NULL);
	llama_log_set(quiet, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	llama_backend_init();
	void *model = llama_model_load_from_file(argv[2], llama_model_default_params());
	if (!model)
		fail("the model cannot be loaded");
	context = llama_init_from_model(model, llama_context_default_params());
	if (!context)
		fail("no context");
	vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	pthread_t other;
	if (opt.lock_ms > 0 && pthread_create(&other, NULL, hold, NULL))
		fail("no thread");

	uint64_t began = now();
	until = began + (uint64_t)(opt.seconds * 1e9);
	while (!over()) {
		if (!strcmp(opt.mode, "decode"))
			decode(1 << 20);
		else if (!strcmp(opt.mode, "prompt"))
			prompt(256);
		else if (!strcmp(opt.mode, "serve"))
			serve();
		else
			fail("--mode is decode, prompt or serve");
	}
	double took = (double)(now() - began) / 1e9;
	llama_free(context);
	llama_model_free(model);
	llama_backend_free();
	char comm[16] = "";
	prctl(PR_GET_NAME, comm);
	printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"steps\":%ld,\"seconds\":%f,\"steps_per_s\":%f", getpid(), gettid(), comm,
	       tokens, took, (double)tokens / took);
	if (opt.lock_ms > 0)
		printf(",\"fault\":\"mutex\",\"fault_count\":%ld,\"injected_ns\":%llu,\"culprit_pid\":%d,\"culprit_tid\":%d,"
		       "\"culprit_comm\":\"kv-compactor\",\"holder_pid\":%d,\"holder_tid\":%d,\"holder_comm\":\"kv-compactor\"",
		       struck, (unsigned long long)injected, getpid(), holder, getpid(), holder);
	printf(",\"since\":%llu,\"ends\":[", (unsigned long long)since);
	for (long i = 0; i < tokens && i < (long)(sizeof(ends) / sizeof(*ends)); i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)ends[i]);
	puts("]}");
	return 0;
}
