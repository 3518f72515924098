/* "victim serve": one command a line on stdin, one answer a line on stdout. */
#ifndef VICTIM_SERVE_H
#define VICTIM_SERVE_H

#include "ops.h"

/* A command line cut into words: words[0] is the command, key=value words are options. */
struct command {
	char *words[32];
	int n;
};

int serve(int resumed);
void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *option(const struct command *c, const char *key); /* NULL if absent */
long option_long(const struct command *c, const char *key, long otherwise);
struct call_args parse_args(const struct command *c);
const struct op *command_op(const struct command *c); /* second word; answers the error itself */

void cmd_call(const struct command *c);
void cmd_rate(const struct command *c);
void cmd_switches(const struct command *c);
void cmd_getppid(const struct command *c);
void cmd_spawn(const struct command *c);
void cmd_longjmp(const struct command *c);
void cmd_fork_in_call(const struct command *c);
void cmd_exec_in_call(const struct command *c);
void cmd_exit_in_call(const struct command *c);
void cmd_hang(const struct command *c);
void cmd_release(const struct command *c);

#endif
