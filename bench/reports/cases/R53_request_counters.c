// R53 - lodgvideon/poseidon-http-server#109, winhowes/AuthTranslator PR#616: the thread that answers the monitoring
// system holds the lock of the metrics while it makes text of all of them. With many series that takes long, and who
// counts something waits.
// Here the server's counters are guarded by a read-write lock. A thread makes a page of them again and again, with a
// pause of 8 ms. Until the onset there are few series (0.15 ms), from the onset on there are many (4 ms).
// Build: as hg.h says; Run: R53_request_counters (HOLLOW="kernel.default=20us")
// TRUTH: lock_contention: T0 "model-server" waits (futex, pthread_rwlock_wrlock in count_request) for the lock of the
// counters, which the thread "metrics-export" of the same process holds while it is on the CPU in render_metrics
// (snprintf), 4 ms.
// To be wrong: the GPU; the lock is held by a thread that waits itself; a busy CPU (each thread has its own); another
// process.
#include "hg.h"
enum { SERIES = 4096, PAGE = 1 << 20, LINE = 160 };
static pthread_rwlock_t counters_lock_ = PTHREAD_RWLOCK_INITIALIZER;
static struct { char label[64]; double value; } counters_[SERIES];
static char page_[PAGE];
static uint64_t pages_, waited_;
__attribute__((noinline)) static size_t append_series(size_t at, int k) {
  return at + snprintf(page_ + at, LINE, "requests_total{%s} %.6f\n", counters_[k].label, counters_[k].value);
}
// Makes the text of so many series that it takes that long.
__attribute__((noinline)) static void render_metrics(uint64_t ns) {
  pthread_rwlock_rdlock(&counters_lock_);
  uint64_t end = now() + ns;
  size_t at = 0;
  for (int k = 0; now() < end; k = (k + 1) % SERIES) {
    at = append_series(at, k);
    if (at + LINE > PAGE) at = 0;
  }
  pages_++;
  pthread_rwlock_unlock(&counters_lock_);
}
static void *export(void *unused) {
  name("metrics-export"); pin(1);
  for (;; nap(8 * MS)) render_metrics(faulty ? 4 * MS : 150 * US);
  return unused;
}
__attribute__((noinline)) static void count_request(uint64_t i) {
  uint64_t a = now();
  pthread_rwlock_wrlock(&counters_lock_);
  waited_ += now() - a;
  for (int k = 0; k < 8; k++) counters_[(i * 31 + k * 7) % SERIES].value += 1;
  pthread_rwlock_unlock(&counters_lock_);
}
static void step(uint64_t i) {
  count_request(i);
  launches(20);
  cudaStreamSynchronize(st_);
  spin(1200 * US);
}
int main(int argc, char **argv) {
  options(argc, argv); name("model-server");
  for (int k = 0; k < SERIES; k++)
    snprintf(counters_[k].label, sizeof counters_[0].label, "model=\"m%d\",tenant=\"t%d\",code=\"200\"", k % 64,
             k / 64);
  gpu_init(0);
  pthread_t t; pthread_create(&t, 0, export, 0);
  pin(0); loop(step);
  char b[96]; snprintf(b, sizeof b, "\"pages\":%lu,\"lock_wait_s\":%.2f", pages_, waited_ / 1e9);
  report(b); _exit(0);
}
