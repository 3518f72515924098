// R52 - gperftools/gperftools PR#762 (and #874): a profiler inside of the program samples it by a timer of the
// process and a signal. The timer's frequency was much too high, and each signal's handler walks the stack on the
// thread that is interrupted.
// Here the timer is there from the beginning, with 20 signals in a second. From the onset on it sends 1000.
// Build: as hg.h says; Run: R52_image_pipeline (HOLLOW="kernel.default=20us")
// TRUTH: T0 "image-feeder" is interrupted 1000 times a second by SIGALRM of its own interval timer (setitimer); the
// handler take_sample walks frames on T0, on the CPU, some 0.3 ms each time. All that T0 does takes longer, the GPU
// waits for launches.
// To be wrong: resize_images has more to do (its CPU time without the handler is as before); another process or
// thread stops it; it waits for a CPU; the GPU.
#include "meet.h"
#include <sys/time.h>
enum { FRAMES = 48, ADDRESSES = 4096, STRIPES = 22 };
static uint32_t seen_[ADDRESSES];
static volatile uint64_t samples_, handled_;
static volatile uint32_t stripes_;
static int often_;
__attribute__((noinline)) static void walk_frames(void) {
  for (int k = 0; k < FRAMES; k++) {
    compute(6 * US);
    seen_[(turned_ >> 20) % ADDRESSES]++;
  }
}
static void take_sample(int unused) {
  int e = errno;
  uint64_t a = now();
  walk_frames();
  samples_++;
  handled_ += now() - a;
  errno = e;
}
static void sample_each(long us) {
  struct itimerval t = {{us / 1000000, us % 1000000}, {us / 1000000, us % 1000000}};
  if (setitimer(ITIMER_REAL, &t, 0)) perror("setitimer");
}
__attribute__((noinline)) static void resize_images(void) {
  for (int k = 0; k < STRIPES; k++) { compute(100 * US); stripes_++; }
}
static void step(uint64_t i) {
  if (faulty && !often_) { often_ = 1; sample_each(1000); }
  resize_images();
  launches(20);
  cudaStreamSynchronize(st_);
}
int main(int argc, char **argv) {
  options(argc, argv); name("image-feeder"); pin(0); calibrate(); gpu_init(0);
  struct sigaction act = {.sa_handler = take_sample, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &act, 0);
  sample_each(50000);
  loop(step);
  sample_each(0);
  char b[96]; snprintf(b, sizeof b, "\"samples\":%lu,\"handled_s\":%.2f", samples_, handled_ / 1e9);
  report(b); _exit(0);
}
