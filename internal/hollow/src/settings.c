/* The settings, parsed anew when their text has changed. */
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static struct settings *current;
static pthread_mutex_t parsing = PTHREAD_MUTEX_INITIALIZER;

/* "20us" is 20000, "2GB" is 2147483648, "1.5" is 1.5. */
static double parse(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"ns", 1},		{"us", 1e3},	      {"ms", 1e6},	     {"s", 1e9},
		     {"KB", 1024.0},	{"MB", 1024. * 1024}, {"GB", 1024. * 1024 * 1024}};
	char *end;
	double v = strtod(text, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit))
			return v * units[i].factor;
	return v;
}

static char *trim(char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]);)
		s[--n] = 0;
	return s;
}

/* Splits the text at lines and semicolons. '#' begins a comment. */
static void read_text(struct settings *s, char *text)
{
	char *save = NULL;
	for (char *line = strtok_r(text, "\n;", &save); line; line = strtok_r(NULL, "\n;", &save)) {
		char *hash = strchr(line, '#'), *eq;
		if (hash)
			*hash = 0;
		if (!(eq = strchr(line, '=')) || s->count == MAX_SETTINGS)
			continue;
		*eq = 0;
		s->key[s->count] = strdup(trim(line));
		s->value[s->count++] = strdup(trim(eq + 1));
	}
}

static const char *find(const struct settings *s, const char *key)
{
	const char *found = NULL; /* the last one counts */
	for (int i = 0; i < s->count; i++)
		if (!strcmp(s->key[i], key))
			found = s->value[i];
	return found;
}

static double number(const struct settings *s, const char *key, double otherwise)
{
	const char *v = find(s, key);
	return v && *v ? parse(v) : otherwise;
}

static struct settings *load(void)
{
	struct settings *s = calloc(1, sizeof *s);
	char *text = malloc(64 << 10);
	s->generation = settings_text(text, 64 << 10);
	read_text(s, text);
	free(text);
	s->kernel_ns = (uint64_t)number(s, "kernel.default", 20e3);
	s->slow = number(s, "slow", 1);
	s->jitter = number(s, "jitter", 0);
	s->period_every = (uint64_t)number(s, "period.every", 0);
	s->period_for = (uint64_t)number(s, "period.for", 0);
	s->period_slow = number(s, "period.slow", 1);
	s->drift = number(s, "drift", 0);
	s->launch_ns = (uint64_t)number(s, "launch.cpu", 1500);
	s->latency_ns = (uint64_t)number(s, "launch.latency", 3e3);
	s->graph_ns = (uint64_t)number(s, "graph.cpu", 5e3);
	s->load_ns = (uint64_t)number(s, "load.cpu", 0);
	s->alloc_ns = (uint64_t)number(s, "alloc", 50e3);
	s->free_ns = (uint64_t)number(s, "free", 20e3);
	s->copy_ns = (uint64_t)number(s, "copy.latency", 2e3);
	s->pinned_rate = number(s, "copy.pinned", 24e9);
	s->pageable_rate = number(s, "copy.pageable", 6e9);
	s->device_rate = number(s, "copy.device", 800e9);
	s->depth = (uint32_t)number(s, "queue.depth", 1024);
	if (s->depth < 1 || s->depth > MAX_DEPTH)
		s->depth = MAX_DEPTH;
	s->sm = (int)number(s, "device.sm", 89);
	s->devices = (int)number(s, "devices", 1);
	s->memory = (uint64_t)number(s, "memory", 24. * 1024 * 1024 * 1024);
	s->since = hollow_now();
	return s;
}

const struct settings *settings(void)
{
	struct settings *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	if (s && s->generation == settings_generation())
		return s;
	pthread_mutex_lock(&parsing);
	s = current;
	if (!s || s->generation != settings_generation()) {
		s = load(); /* the old ones stay: another thread may be reading them */
		__atomic_store_n(&current, s, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&parsing);
	return s;
}

void hollow_setting(const char *key, char *out, size_t size)
{
	const char *v = find(settings(), key);
	if (!size)
		return;
	strncpy(out, v ? v : "", size - 1);
	out[size - 1] = 0;
}

double hollow_number(const char *key, double otherwise)
{
	return number(settings(), key, otherwise);
}

/* A rule "kernel.NAME" holds for all kernels whose name contains NAME; the last one counts. */
uint64_t kernel_ns(struct func *f)
{
	const struct settings *s = settings();
	if (__atomic_load_n(&f->generation, __ATOMIC_ACQUIRE) == s->generation)
		return f->ns;
	uint64_t ns = s->kernel_ns;
	for (int i = 0; i < s->count; i++)
		if (!strncmp(s->key[i], "kernel.", 7) && strcmp(s->key[i], "kernel.default") &&
		    strstr(f->name, s->key[i] + 7))
			ns = (uint64_t)parse(s->value[i]);
	f->ns = ns;
	__atomic_store_n(&f->generation, s->generation, __ATOMIC_RELEASE);
	return ns;
}

/* How much longer a kernel takes that begins at the given time. */
double slowness(uint64_t start)
{
	const struct settings *s = settings();
	double f = s->slow;
	if (s->period_every && start % s->period_every < s->period_for)
		f *= s->period_slow;
	if (s->drift != 0 && start > s->since)
		f *= 1 + s->drift * (double)(start - s->since) / 1e9;
	if (s->jitter > 0) {
		static __thread uint64_t seed = 88172645463325252ull; /* xorshift64 */
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		f *= 1 + s->jitter * ((double)(seed >> 11) / 9007199254740992.0 * 2 - 1);
	}
	return f < 0 ? 0 : f;
}
