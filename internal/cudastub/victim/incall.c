/* Commands in which something drastic happens while a traced call is open.
 *
 * Each takes "at=FUNCTION": the function whose body does it, by default the one
 * called. "longjmp cudaLaunchKernel at=cuLaunchKernel" leaves two open calls. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "serve.h"

/* Makes fn run inside the call; after an error it has answered, and returns NULL. */
static const struct op *arm(const struct command *c, void (*fn)(void *), void *arg)
{
	const struct op *op = command_op(c);
	const char *at = option(c, "at");
	char spec[256];

	if (!op)
		return NULL;
	if (at && strcmp(at, op->name))
		snprintf(spec, sizeof(spec), "%s:nested;%s:callback", op->name, at);
	else
		snprintf(spec, sizeof(spec), "%s:callback", op->name);
	if (stub_set(spec)) {
		answer("err cannot arm %s", spec);
		return NULL;
	}
	stub_callback(fn, arg);
	return op;
}

static void disarm(const struct command *c)
{
	const char *at = option(c, "at");
	char spec[256];

	snprintf(spec, sizeof(spec), "%s:none;%s:none", c->words[1], at ? at : c->words[1]);
	stub_set(spec);
	stub_callback(NULL, NULL);
	stub_forget();
}

static void jump_out(void *arg)
{
	longjmp(*(jmp_buf *)arg, 1);
}

void cmd_longjmp(const struct command *c)
{
	static jmp_buf home;
	struct call_args args = parse_args(c);
	const struct op *op = arm(c, jump_out, &home);
	volatile int jumped = 0;

	if (!op)
		return;
	if (setjmp(home) == 0)
		op->call(&args);
	else
		jumped = 1;
	disarm(c);
	answer("ok jumped=%d", jumped);
}

static void fork_here(void *arg)
{
	*(volatile pid_t *)arg = fork();
}

void cmd_fork_in_call(const struct command *c)
{
	static volatile pid_t child;
	struct call_args args = parse_args(c);
	const struct op *op = arm(c, fork_here, (void *)&child);
	int status = 0;

	if (!op)
		return;
	op->call(&args);
	if (child == 0)
		_exit(7); /* the child came back out of the call too */
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		disarm(c);
		answer("err cannot fork");
		return;
	}
	disarm(c);
	answer("ok child_pid=%d child_exit=%d", child, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void exec_here(void *arg)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1); /* as /proc/self/exe its comm would be "exe" */

	(void)arg;
	if (n <= 0)
		return;
	self[n] = 0;
	execl(self, self, "serve", "--resumed", (char *)NULL);
}

/* The answer comes from the program after the exec. */
void cmd_exec_in_call(const struct command *c)
{
	struct call_args args = parse_args(c);
	const struct op *op = arm(c, exec_here, NULL);

	if (!op)
		return;
	op->call(&args);
	disarm(c);
	answer("err cannot exec");
}

struct exiting {
	const struct op *op;
	struct call_args args;
	int raw, tid;
};

static void exit_here(void *arg)
{
	if (((struct exiting *)arg)->raw)
		syscall(SYS_exit, 0);
	pthread_exit(NULL);
}

static void *exit_thread(void *arg)
{
	struct exiting *e = arg;

	name_thread("victim-exiting");
	e->tid = thread_id();
	e->op->call(&e->args);
	return e; /* not reached */
}

/* "raw=1" ends the thread by the system call alone, without unwinding. */
void cmd_exit_in_call(const struct command *c)
{
	struct exiting e = {.args = parse_args(c), .raw = (int)option_long(c, "raw", 0)};
	pthread_t thread;
	void *result = NULL;

	e.op = arm(c, exit_here, &e);
	if (!e.op)
		return;
	if (pthread_create(&thread, NULL, exit_thread, &e)) {
		disarm(c);
		answer("err cannot start a thread");
		return;
	}
	pthread_join(thread, &result);
	disarm(c);
	answer("ok tid=%d returned=%d", e.tid, result == &e);
}
