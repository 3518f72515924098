/* Calls, counted and timed by the program that makes them. */
#include <stdio.h>

#include "../stub/behave.h"
#include "loop.h"

/* Values below 32 have a bucket each; from there on, each power of two has 32. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned bits = ns >> PART_BITS ? 64 - PART_BITS - 1 - (unsigned)__builtin_clzll(ns) : 0;
	unsigned i = (bits << PART_BITS) + (unsigned)(ns >> bits);

	return i < SPANS ? i : SPANS - 1;
}

static void add_span(struct spans *s, uint64_t ns)
{
	s->total_ns += ns;
	s->max_ns = ns > s->max_ns ? ns : s->max_ns;
	s->n[bucket_of(ns)]++;
}

uint64_t make(void)
{
	cudastub_inside_ns(); /* discards the time of a call that was not counted */
	return now_ns();
}

void made(struct made *m, uint64_t begin_ns, uint64_t bytes, int rc)
{
	add_span(&m->around, now_ns() - begin_ns);
	add_span(&m->inside, cudastub_inside_ns());
	m->n++;
	m->errors += rc != 0;
	m->bytes += bytes;
}

static void add_spans(struct spans *to, const struct spans *s)
{
	to->total_ns += s->total_ns;
	to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
	for (int i = 0; i < SPANS; i++)
		to->n[i] += s->n[i];
}

void add_made(struct made *to, const struct made *m)
{
	to->n += m->n;
	to->errors += m->errors;
	to->bytes += m->bytes;
	add_spans(&to->inside, &m->inside);
	add_spans(&to->around, &m->around);
}

/* Buckets as pairs: index, how many. */
static void print_spans(const char *key, const struct spans *s)
{
	const char *comma = "";

	printf("\"%s\":{\"total_ns\":%llu,\"max_ns\":%llu,\"buckets\":[", key, (unsigned long long)s->total_ns,
	       (unsigned long long)s->max_ns);
	for (int i = 0; i < SPANS; i++) {
		if (!s->n[i])
			continue;
		printf("%s[%d,%u]", comma, i, s->n[i]);
		comma = ",";
	}
	printf("]}");
}

void print_made(const char *name, const struct made *m)
{
	printf("\"%s\":{\"calls\":%ld,\"errors\":%ld,\"bytes\":%llu,", name, m->n, m->errors, (unsigned long long)m->bytes);
	print_spans("inside", &m->inside);
	printf(",");
	print_spans("around", &m->around);
	printf("}");
}
