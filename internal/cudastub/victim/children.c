#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"

pid_t start_child(struct run *r, const char *name, int cpu, void (*body)(struct run *, void *), void *arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_IGN); /* a terminal's ^C is the victim's to handle */
		name_thread(name);
		if (cpu >= 0)
			pin_to_cpu(cpu);
		body(r, arg);
		_exit(0);
	}
	if (pid > 0 && r->n_children < MAX_CHILDREN)
		r->children[r->n_children++] = pid;
	return pid;
}

void end_children(struct run *r)
{
	for (int i = 0; i < r->n_children; i++)
		kill(r->children[i], SIGKILL);
	for (int i = 0; i < r->n_children; i++)
		waitpid(r->children[i], NULL, 0);
	r->n_children = 0;
}

/* Two processes that wake each other and have nothing to do with the victim. */
struct chat {
	int in, out;
};

static void chatter(struct run *r, void *arg)
{
	const struct chat *c = arg;
	char ch = 0;

	(void)r;
	while (read(c->in, &ch, 1) == 1 && write(c->out, &ch, 1) == 1)
		;
}

void start_ping_pong(struct run *r, int cpu)
{
	int ab[2], ba[2];

	if (pipe2(ab, O_CLOEXEC) || pipe2(ba, O_CLOEXEC))
		return;
	if (write(ab[1], "x", 1) != 1)
		return;
	start_child(r, "chatter-a", cpu, chatter, &(struct chat){ba[0], ab[1]});
	start_child(r, "chatter-b", cpu, chatter, &(struct chat){ab[0], ba[1]});
	close(ab[0]);
	close(ab[1]);
	close(ba[0]);
	close(ba[1]);
}

static void client(struct run *r, void *arg)
{
	int fd = *(int *)arg;
	char ch = 'r';

	for (;;) {
		sleep_until_ns(now_ns() + (uint64_t)r->o.period_ms * NS_PER_MS);
		if (send(fd, &ch, 1, MSG_NOSIGNAL) != 1 || recv(fd, &ch, 1, 0) != 1)
			return;
	}
}

/* idle-server: steps run only when a client asks for one. */
static int start_client(struct injection *in, struct dispatcher *d)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return refuse("cannot make a socket");
	in->run->truth.client_pid = start_child(in->run, in->name, PIN_NONE, client, &pair[1]);
	close(pair[1]);
	d->server_fd = pair[0];
	return 0;
}

const struct fault fault_idle_server = {
	.name = "idle-server", .culprit = "load-client", .parts = PART_SERVER, .prepare = start_client,
};
