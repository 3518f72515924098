// R33 - alibaba/rtp-llm PR#1080 (the mechanism in dragonflydb/dragonfly PR#1910): answers of an inference server came some
// 40 ms late: a message was sent by two small writes on a TCP connection without TCP_NODELAY. The kernel holds the second
// one back until the first is acknowledged (Nagle's algorithm), and the receiver delays that acknowledgement.
// Here the engine asks a process for the place of cached blocks (16 bytes of header, 200 of body) every 16 steps. From the
// onset on its connection does not have TCP_NODELAY.
// Build: as hg.h says; Run: R33_small_writes (HOLLOW="kernel.default=20us"); only the loopback interface is used.
// TRUTH: T0 "engine" waits some 40 ms in recv() for the answer of "kv-index" over TCP (every 16th step), while "kv-index"
// itself waits in recv() for the rest of the question: nobody is busy. The delay is Nagle's algorithm together with delayed
// acknowledgement; remedy: TCP_NODELAY, or one write.
// To be wrong: "kv-index" is slow (it needs some microseconds); the GPU; a lock.
#include "hg.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
enum { HEADER = 16, BODY = 200, ANSWER = 32 };
static int fd_, without_;
static void fully(int fd, char *b, int n) {
  for (int r; n > 0; b += r, n -= r)
    if ((r = recv(fd, b, n, 0)) <= 0) _exit(0);
}
static void serve(int listener) {
  name("kv-index"); prctl(PR_SET_PDEATHSIG, SIGKILL);
  char b[HEADER + BODY], a[ANSWER] = {0};
  int fd = accept(listener, 0, 0), one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  for (;;) {
    fully(fd, b, HEADER);
    fully(fd, b + HEADER, BODY);
    if (send(fd, a, ANSWER, MSG_NOSIGNAL) != ANSWER) _exit(0);
  }
}
static void nodelay(int on) { setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); }
__attribute__((noinline)) static void find_blocks(void) {
  char b[HEADER + BODY] = {0}, a[ANSWER];
  if (send(fd_, b, HEADER, MSG_NOSIGNAL) < 0 || send(fd_, b + HEADER, BODY, MSG_NOSIGNAL) < 0) perror("send");
  fully(fd_, a, ANSWER);
}
static void step(uint64_t i) {
  if (faulty && !without_) { without_ = 1; nodelay(0); }
  if (i % 16 == 0) find_blocks();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(1200 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  if (bind(listener, (void *)&a, n) || listen(listener, 1) || getsockname(listener, (void *)&a, &n)) { perror("listen"); return 1; }
  if (fork() == 0) serve(listener);
  name("engine");
  fd_ = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd_, (void *)&a, n)) { perror("connect"); return 1; }
  nodelay(1);
  gpu_init(0); loop(step); report(0); _exit(0);
}
