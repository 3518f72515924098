#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

enum kind { LONG, SIGNED, DOUBLE, STRING, SWITCH, CPU, FAULT, PHASE };

static const struct {
	const char *name;
	enum kind kind;
	size_t offset;
} table[] = {
#define OPT(name, kind, field) {name, kind, offsetof(struct options, field)}
	OPT("--seconds", DOUBLE, seconds),
	OPT("--steps", LONG, steps),
	OPT("--min-steps", LONG, min_steps), /* of a run with --seconds, which may get little CPU time */
	OPT("--seed", LONG, seed),
	OPT("--fault", FAULT, fault),
	OPT("--also", FAULT, also),
	OPT("--fault-ms", LONG, fault_ms),
	OPT("--period-ms", LONG, period_ms),
	OPT("--start-after", DOUBLE, start_after),
	OPT("--name", STRING, name),
	OPT("--thread", STRING, thread),
	OPT("--culprit", STRING, culprit),
	OPT("--pin", CPU, pin),
	OPT("--cpus", LONG, cpus), /* the first so many of those that it may use */
	OPT("--dir", STRING, dir),
	OPT("--server", STRING, server),
	OPT("--launches", LONG, launches),
	OPT("--launch-us", LONG, launch_us),
	OPT("--memcpy-us", LONG, memcpy_us),
	OPT("--syncs", LONG, syncs), /* in a step, of --sync-us each */
	OPT("--sync-us", LONG, sync_us),
	OPT("--host-us", LONG, host_us),
	OPT("--pace-us", LONG, pace_us),
	OPT("--validate", LONG, validate),
	OPT("--phase", PHASE, phase),
	OPT("--phase-at", DOUBLE, phase_at),       /* s, when it begins */
	OPT("--phase-for", DOUBLE, phase_for),     /* s, how long it lasts; 0: to the end */
	OPT("--phase-every", DOUBLE, phase_every), /* s, from one to the next; 0: there is only one */
	OPT("--warmup", LONG, warmup),
	OPT("--duty", LONG, duty),
	OPT("--hogs", LONG, hogs),
	OPT("--nice", SIGNED, nice),
	OPT("--rt", LONG, rt),
	OPT("--jitter", LONG, jitter),
	OPT("--quota-us", LONG, quota_us),
	OPT("--cfs-period-us", LONG, cfs_period_us),
	OPT("--dispatchers", LONG, dispatchers),
	OPT("--ping-pong", CPU, ping_pong),
	OPT("--sleeper", SWITCH, sleeper),
	OPT("--nested", SWITCH, nested),
	OPT("--wait-stdin", SWITCH, wait_stdin),
#undef OPT
};

static int parse_cpu(const char *v, int *cpu)
{
	char *end;

	*cpu = !strcmp(v, "none") ? PIN_NONE : (int)strtol(v, &end, 10);
	return *cpu < PIN_NONE ? -1 : 0;
}

static int parse_value(enum kind kind, const char *v, void *field)
{
	char *end = NULL;

	switch (kind) {
	case LONG:
		*(long *)field = strtol(v, &end, 10);
		return *end || *(long *)field < 0 ? -1 : 0;
	case SIGNED:
		*(long *)field = strtol(v, &end, 10);
		return *end ? -1 : 0;
	case DOUBLE:
		*(double *)field = strtod(v, &end);
		return *end || *(double *)field < 0 ? -1 : 0;
	case STRING:
		*(const char **)field = v;
		return 0;
	case CPU:
		return parse_cpu(v, field);
	case FAULT:
		*(const struct fault **)field = find_fault(v);
		return *(const struct fault **)field ? 0 : -1;
	case PHASE:
		*(const struct phase **)field = find_phase(v);
		return *(const struct phase **)field ? 0 : -1;
	default:
		return -1;
	}
}

static void set_defaults(struct options *o)
{
	const char *tmp = getenv("TMPDIR");

	*o = (struct options){
		.seconds = 5, .start_after = 1, .seed = 1, .fault_ms = 50, .period_ms = 250,
		.launches = 20, .launch_us = 5, .memcpy_us = 20, .syncs = 1, .sync_us = 500, .host_us = 200,
		.warmup = 20, .duty = 100, .hogs = 4, .quota_us = 20000, .cfs_period_us = 100000, .dispatchers = 1,
		.pin = PIN_DEFAULT, .fault = find_fault("none"), .ping_pong = PIN_NONE,
		.name = "trainer", .dir = tmp ? tmp : "/tmp",
	};
}

/* Parses one option at argv[0]; returns the words used, 0 if it is wrong. */
static int parse_one(struct options *o, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		void *field = (char *)o + table[i].offset;

		if (strcmp(argv[0], table[i].name))
			continue;
		if (table[i].kind == SWITCH) {
			*(int *)field = 1;
			return 1;
		}
		return argc > 1 && !parse_value(table[i].kind, argv[1], field) ? 2 : 0;
	}
	return 0;
}

int parse_options(struct options *o, int argc, char **argv)
{
	set_defaults(o);
	while (argc > 0) {
		int used = parse_one(o, argc, argv);

		if (!used) {
			fprintf(stderr, "victim: cannot understand %s %s\n", argv[0], argc > 1 ? argv[1] : "");
			return -1;
		}
		argc -= used;
		argv += used;
	}
	if (o->dispatchers < 1 || o->dispatchers > MAX_DISPATCHERS || o->duty > 100 || !o->period_ms ||
	    o->jitter > 90 || o->syncs < 1) {
		fprintf(stderr, "victim: --dispatchers, --duty, --period-ms, --jitter or --syncs out of range\n");
		return -1;
	}
	if (o->also && (o->also == o->fault || o->also->parts & o->fault->parts)) {
		fprintf(stderr, "victim: %s and %s cannot be had at once\n", o->fault->name, o->also->name);
		return -1;
	}
	return 0;
}
