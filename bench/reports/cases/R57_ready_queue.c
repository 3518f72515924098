// R57 - torch-spyre/torch-spyre#4020, jacobdufault/cquery PR#214: a scheduler waits for a condition with a short
// time-out, in case that a notification is lost. One is lost now and then: what it waits for is long ready, but
// nobody wakes it before the time-out.
// Here each step hands an item to a thread, which needs 0.3 ms for it, and waits until it is ready, 10 ms at most at
// a time, then it looks again. Every 6th item is a barrier. From the onset on the thread does not notify when it is
// ready with a barrier.
// Build: as hg.h says; Run: R57_ready_queue (HOLLOW="kernel.default=100us")
// TRUTH: T0 "stream-runner" waits in pthread_cond_timedwait (wait_until_ready) for 10 ms, in every 6th step: the wait
// ends by its time-out, nobody wakes it (a missed notification). The thread "completer" was ready after 0.3 ms, and
// is idle.
// To be wrong: the completer is slow or has no CPU; a lock that somebody holds; the GPU.
#include "meet.h"
enum { BARRIER_EACH = 6 };
static pthread_mutex_t mu_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more_ = PTHREAD_COND_INITIALIZER, ready_ = PTHREAD_COND_INITIALIZER;
static uint64_t asked_, completed_, timeouts_;
static volatile uint32_t parts_;
__attribute__((noinline)) static void complete_item(void) {
  for (int k = 0; k < 3; k++) { compute(100 * US); parts_++; }
}
static void *completer(void *unused) {
  name("completer"); pin(1);
  for (;;) {
    pthread_mutex_lock(&mu_);
    while (asked_ == completed_) pthread_cond_wait(&more_, &mu_);
    pthread_mutex_unlock(&mu_);
    complete_item();
    pthread_mutex_lock(&mu_);
    int barrier = ++completed_ % BARRIER_EACH == 0;
    if (!(barrier && faulty)) pthread_cond_signal(&ready_);
    pthread_mutex_unlock(&mu_);
  }
  return unused;
}
static void hand_over(void) {
  pthread_mutex_lock(&mu_);
  asked_++;
  pthread_cond_signal(&more_);
  pthread_mutex_unlock(&mu_);
}
__attribute__((noinline)) static void wait_until_ready(void) {
  pthread_mutex_lock(&mu_);
  while (completed_ < asked_) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 10 * MS;
    if (t.tv_nsec >= 1000000000) { t.tv_sec++; t.tv_nsec -= 1000000000; }
    if (pthread_cond_timedwait(&ready_, &mu_, &t) == ETIMEDOUT) timeouts_++;
  }
  pthread_mutex_unlock(&mu_);
}
static void step(uint64_t i) {
  hand_over();
  wait_until_ready();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(1500 * US);
}
int main(int argc, char **argv) {
  options(argc, argv); name("stream-runner"); calibrate(); gpu_init(0);
  pthread_t t; pthread_create(&t, 0, completer, 0);
  pin(0); loop(step);
  char b[64]; snprintf(b, sizeof b, "\"timeouts\":%lu", timeouts_);
  report(b); _exit(0);
}
