#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "kernels.h"
#include "serve.h"

void answer(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

const char *option(const struct command *c, const char *key)
{
	size_t len = strlen(key);

	for (int i = 1; i < c->n; i++)
		if (!strncmp(c->words[i], key, len) && c->words[i][len] == '=')
			return c->words[i] + len + 1;
	return NULL;
}

long option_long(const struct command *c, const char *key, long otherwise)
{
	const char *v = option(c, key);

	return v ? strtol(v, NULL, 0) : otherwise;
}

static int serve_device; /* of the main thread; a fresh thread begins with device 0, as in CUDA */

struct call_args parse_args(const struct command *c)
{
	struct call_args a = default_args;

	a.bytes = (size_t)option_long(c, "bytes", (long)a.bytes);
	a.kind = (int)option_long(c, "kind", a.kind);
	a.device = (int)option_long(c, "device", serve_device);
	a.func = (uintptr_t)option_long(c, "func", (long)a.func);
	a.stream = (uintptr_t)option_long(c, "stream", (long)a.stream);
	a.ptr = (uintptr_t)option_long(c, "ptr", (long)a.ptr);
	a.grid = (unsigned)option_long(c, "grid", (long)a.grid);
	a.block = (unsigned)option_long(c, "block", (long)a.block);
	if (option(c, "name"))
		a.name = option(c, "name");
	if (option(c, "kernel"))
		a.func = find_kernel(option(c, "kernel"));
	return a;
}

const struct op *command_op(const struct command *c)
{
	const struct op *op = c->n > 1 ? find_op(c->words[1]) : NULL;

	if (!stub_loaded()) {
		answer("err library not loaded");
		return NULL;
	}
	if (!op)
		answer("err unknown function");
	return op;
}

static void cmd_set(const struct command *c)
{
	if (!stub_loaded())
		answer("err library not loaded");
	else if (c->n != 2 || stub_set(c->words[1]))
		answer("err cannot understand the behaviour");
	else
		answer("ok");
}

/* Calls cudaSetDevice once: the one traced call this command is. */
static void cmd_device(const struct command *c)
{
	struct call_args a = default_args;
	int rc;

	if (!stub_loaded() || c->n != 2) {
		answer("err device needs a number and a loaded library");
		return;
	}
	a.device = atoi(c->words[1]);
	rc = find_op("cudaSetDevice")->call(&a);
	if (!rc)
		serve_device = a.device;
	answer("ok rc=%d", rc);
}

static void cmd_ops(const struct command *c)
{
	const struct op *op;

	(void)c;
	printf("ok names=");
	for (unsigned i = 0; (op = op_at(i)); i++)
		printf("%s%s", i ? "," : "", op->name);
	answer("%s", "");
}

static void cmd_threads(const struct command *c)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	(void)c;
	printf("ok tids=");
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			printf("%s%s", n++ ? "," : "", e->d_name);
	answer(" n=%d", n);
	if (d)
		closedir(d);
}

static void cmd_pid(const struct command *c)
{
	char comm[16];

	(void)c;
	thread_comm(comm);
	answer("ok pid=%d comm=%s", getpid(), comm);
}

static void cmd_dlopen(const struct command *c)
{
	(void)c;
	if (stub_load())
		answer("err cannot load libcudart.so.12 and libcuda.so.1");
	else
		answer("ok");
}

static void cmd_dlclose(const struct command *c)
{
	(void)c;
	stub_unload();
	answer("ok");
}

static const struct {
	const char *name;
	void (*run)(const struct command *c);
} commands[] = {
	{"call", cmd_call},
	{"rate", cmd_rate},
	{"set", cmd_set},
	{"device", cmd_device},
	{"spawn", cmd_spawn},
	{"switches", cmd_switches},
	{"getppid", cmd_getppid},
	{"longjmp", cmd_longjmp},
	{"fork-in-call", cmd_fork_in_call},
	{"exec-in-call", cmd_exec_in_call},
	{"exit-in-call", cmd_exit_in_call},
	{"hang", cmd_hang},
	{"release", cmd_release},
	{"ops", cmd_ops},
	{"threads", cmd_threads},
	{"pid", cmd_pid},
	{"dlopen", cmd_dlopen},
	{"dlclose", cmd_dlclose},
};

/* One line, byte by byte: nothing is left in a buffer that an exec would lose. */
static int read_line(char *line, size_t size)
{
	size_t n = 0;
	char ch;

	while (read(STDIN_FILENO, &ch, 1) == 1) {
		if (ch == '\n') {
			line[n] = 0;
			return 0;
		}
		if (n < size - 1)
			line[n++] = ch;
	}
	return -1;
}

static void run_command(const struct command *c)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, c->words[0])) {
			commands[i].run(c);
			return;
		}
	answer("err unknown command");
}

int serve(int resumed)
{
	char line[1024], *save, *w;

	if (resumed)
		answer("ok pid=%d", getpid());
	while (!read_line(line, sizeof(line))) {
		struct command c = {.n = 0};

		for (w = strtok_r(line, " ", &save); w && c.n < 32; w = strtok_r(NULL, " ", &save))
			c.words[c.n++] = w;
		if (!c.n)
			continue;
		if (!strcmp(c.words[0], "quit")) {
			answer("ok");
			break;
		}
		run_command(&c);
	}
	return 0;
}
