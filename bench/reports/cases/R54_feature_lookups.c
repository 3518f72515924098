// R54 - apache/dubbo#5168 (and ai-dynamo/dynamo PR#15080): a server's queue of connections that it has not accepted
// yet is short. While the server is busy the queue gets full, and the kernel drops the first packet of each further
// connection. Who connects learns nothing of it, and tries again after one second.
// Here a ranking server asks the process "feature-store" in each step, each time with a new TCP connection. Every 3.4
// s the store tells the process "dashboard" that there is something new, which makes two connections, and compacts
// its index. Until the onset that takes 2 ms, and the queue has room for 128. From the onset on it takes 300 ms, and
// there is room for one.
// Build: as hg.h says; Run: R54_feature_lookups (HOLLOW="kernel.default=100us"); only the loopback interface is used.
// TRUTH: T0 "ranker" waits in connect() (look_up) for 1 s, every 3.4 s: the SYN was dropped, as the accept queue
// (backlog) of the process "feature-store" was full while that did not accept for 0.3 s; the rest of the second is
// the time until the SYN is sent again.
// To be wrong: the store needs a second for an answer; the network loses packets; a name look-up; the GPU; a lock.
#include "hg.h"
#include <arpa/inet.h>
#include <netinet/in.h>
enum { QUESTION = 64, ANSWER = 256 };
static struct sockaddr_in at_ = {.sin_family = AF_INET};
static volatile int *worse_; // shared by all processes
static uint64_t longest_;
static int fully(int fd, char *b, int n) {
  for (int r; n > 0; b += r, n -= r)
    if ((r = recv(fd, b, n, 0)) <= 0) return 0;
  return 1;
}
static int ask(int fd) {
  char q[QUESTION] = {0}, a[ANSWER];
  return send(fd, q, QUESTION, MSG_NOSIGNAL) == QUESTION && fully(fd, a, ANSWER);
}
static void answer(int listener) {
  char q[QUESTION], a[ANSWER] = {0};
  int fd = accept(listener, 0, 0);
  if (fd < 0) return;
  if (fully(fd, q, QUESTION)) {
    spin(30 * US);
    if (send(fd, a, ANSWER, MSG_NOSIGNAL) < 0) perror("send");
  }
  close(fd);
}
__attribute__((noinline)) static void compact_index(uint64_t ns) { spin(ns); }
static void store(int listener, int news, int seen) {
  name("feature-store"); prctl(PR_SET_PDEATHSIG, SIGKILL); pin(1);
  uint64_t due = now() + 1000 * MS;
  int worse = 0;
  for (char b = 0;; answer(listener)) {
    if (worse != *worse_) {
      worse = *worse_;
      listen(listener, 1); // a release with another configuration
      due = now() + 300 * MS;
    }
    if (now() < due) continue;
    due = now() + 3400 * MS;
    if (write(news, &b, 1) != 1 || read(seen, &b, 1) != 1) _exit(0);
    compact_index(worse ? 300 * MS : 2 * MS);
  }
}
static void dashboard(int news, int seen) {
  name("dashboard"); prctl(PR_SET_PDEATHSIG, SIGKILL); pin(1);
  for (char b; read(news, &b, 1) == 1;) {
    int fds[2];
    for (int k = 0; k < 2; k++) {
      fds[k] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      if (connect(fds[k], (void *)&at_, sizeof at_) && errno != EINPROGRESS) perror("connect");
      fcntl(fds[k], F_SETFL, 0);
    }
    if (write(seen, &b, 1) != 1) break;
    for (int k = 0; k < 2; k++) { ask(fds[k]); close(fds[k]); }
  }
  _exit(0);
}
__attribute__((noinline)) static void look_up(void) {
  uint64_t a = now();
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (void *)&at_, sizeof at_)) perror("connect");
  else if (!ask(fd)) fprintf(stderr, "no answer\n");
  close(fd);
  if (now() - a > longest_) longest_ = now() - a;
}
static void step(uint64_t i) {
  *worse_ = faulty;
  look_up();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(3000 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  worse_ = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int listener = socket(AF_INET, SOCK_STREAM, 0), news[2], seen[2];
  at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof at_;
  if (worse_ == MAP_FAILED || pipe(news) || pipe(seen) || bind(listener, (void *)&at_, n) || listen(listener, 128) ||
      getsockname(listener, (void *)&at_, &n)) {
    perror("prepare");
    return 1;
  }
  if (fork() == 0) dashboard(news[0], seen[1]);
  if (fork() == 0) store(listener, news[1], seen[0]);
  name("ranker"); pin(0);
  gpu_init(0); loop(step);
  char b[64]; snprintf(b, sizeof b, "\"longest_look_up_ms\":%.1f", longest_ / 1e6);
  report(b); _exit(0);
}
