/* peer-pipe, peer-unix, peer-tcp: each step asks another process and waits for the
 * answer, which is late when the fault is due. peer-far asks the server at --server,
 * which sends back what it gets, on a wire that makes the answer late. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"

#define PROMPT_NS (20 * NS_PER_US) /* what a healthy answer costs */

struct line {
	int in, out;
};

static struct line ours;

FRAME static void lookup_features(uint64_t ns)
{
	work_ns(ns);
}

/* A question says how long the answer is to take. */
static void answer_questions(struct run *r, void *arg)
{
	const struct line *l = arg;
	uint64_t ns;

	(void)r;
	close(ours.in);
	close(ours.out);
	while (read(l->in, &ns, sizeof(ns)) == sizeof(ns)) {
		lookup_features(ns);
		if (write(l->out, &ns, sizeof(ns)) != sizeof(ns))
			return;
	}
}

static int start_peer(struct injection *in, struct line theirs)
{
	pid_t pid = start_child(in->run, in->name, cpu_apart(in->run), answer_questions, &theirs);

	close(theirs.in);
	if (theirs.out != theirs.in)
		close(theirs.out);
	in->culprit = in->peer = a_process(pid, in->name);
	return pid > 0 ? 0 : refuse("cannot start a process");
}

static int by_pipe(struct injection *in, struct dispatcher *d)
{
	int questions[2], answers[2];

	(void)d;
	if (pipe2(questions, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return refuse("cannot make a pipe");
	ours = (struct line){answers[0], questions[1]};
	return start_peer(in, (struct line){questions[0], answers[1]});
}

static int by_unix_socket(struct injection *in, struct dispatcher *d)
{
	int pair[2];

	(void)d;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return refuse("cannot make a socket");
	ours = (struct line){pair[0], pair[0]};
	return start_peer(in, (struct line){pair[1], pair[1]});
}

/* Connects a to b over the loopback interface. */
static int connect_loopback(int *a, int *b)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	*a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || *a < 0 || bind(listener, (struct sockaddr *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &len) || connect(*a, (struct sockaddr *)&at, len))
		return -1;
	*b = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	setsockopt(*a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return *b < 0 ? -1 : 0;
}

static int by_tcp(struct injection *in, struct dispatcher *d)
{
	int a, b;

	(void)d;
	if (connect_loopback(&a, &b))
		return refuse("cannot connect over the loopback interface");
	ours = (struct line){a, a};
	return start_peer(in, (struct line){b, b});
}

/* Connects to the server at ADDRESS:PORT. */
static int by_address(struct injection *in, struct dispatcher *d)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	char address[INET_ADDRSTRLEN + 1];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	unsigned short port;

	(void)d;
	if (!in->run->o.server || sscanf(in->run->o.server, "%16[0-9.]:%hu", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &at.sin_addr) != 1)
		return refuse("peer-far needs --server ADDRESS:PORT");
	at.sin_port = htons(port);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return refuse("cannot connect to %s", in->run->o.server);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ours = (struct line){fd, fd};
	return 0;
}

FRAME static void fetch_features(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns(), ns;
	int slow = injection_due(in, t);

	ns = slow ? injection_ns(in) : PROMPT_NS;
	if (write(ours.out, &ns, sizeof(ns)) != sizeof(ns) || read(ours.in, &ns, sizeof(ns)) != sizeof(ns))
		return; /* the run was stopped */
	if (slow)
		inject(in, over_baseline(&in->healthy, now_ns() - t, PROMPT_NS));
	else
		learn(d, &in->healthy, now_ns() - t);
}

static void hang_up(struct injection *in)
{
	(void)in;
	close(ours.in);
	if (ours.out != ours.in)
		close(ours.out);
}

const struct fault fault_peer_pipe = {
	.name = "peer-pipe", .culprit = "feature-store", .parts = PART_PEER, .prepare = by_pipe,
	.host = fetch_features, .end = hang_up,
};
const struct fault fault_peer_unix = {
	.name = "peer-unix", .culprit = "feature-store", .parts = PART_PEER, .prepare = by_unix_socket,
	.host = fetch_features, .end = hang_up,
};
const struct fault fault_peer_tcp = {
	.name = "peer-tcp", .culprit = "feature-store", .parts = PART_PEER, .prepare = by_tcp,
	.host = fetch_features, .end = hang_up,
};
const struct fault fault_peer_far = {
	.name = "peer-far", .parts = PART_PEER, .prepare = by_address, .host = fetch_features, .end = hang_up,
};
