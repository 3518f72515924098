// R45 - Mesa3D/mesa PR#7: a graphics driver compiles shaders in helper threads with the scheduling policy SCHED_IDLE. On a busy machine
// these threads get hardly any CPU time, and the program's main thread, which waits for what they compile, stands still.
// Build: as hg.h says; Run: R45_starved_helper (the program) beside "R45_starved_helper build" (HOLLOW="kernel.default=100us")
// Each step hands a job of 0.7 ms to the helper (on CPU 1, SCHED_IDLE) and waits for it. From the onset on a build in another
// process needs 8 ms of every 10 on CPU 1.
// TRUTH: T0 "renderer" waits (condition variable, wait_for_variant) for its helper "sh_queue0", which is ready to run but does
// not get CPU 1: the process "cc-build" has it, and the helper's policy is SCHED_IDLE. CPU 0 is not busy.
// To be wrong: the lock as such; the helper's job became longer (it has 0.7 ms of CPU time as before); the GPU.
#include "meet.h"
static const char *at_ = "/var/tmp/cases/r45.meet";
static pthread_mutex_t mu_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more_ = PTHREAD_COND_INITIALIZER, done_ = PTHREAD_COND_INITIALIZER;
static uint64_t asked_, answered_;
static int build(void) {
  name("cc-build"); pin(1);
  pid_t pid = expect(at_);
  uint64_t a = now();
  if (t_onset > a) nap(t_onset - a);
  for (; alive(pid); nap(2 * MS)) spin(8 * MS);
  return 0;
}
__attribute__((noinline)) static void compile_variant(void) { compute(700 * US); }
static void *helper(void *unused) {
  name("sh_queue0"); pin(1);
  struct sched_param p = {0};
  if (sched_setscheduler(0, SCHED_IDLE, &p)) perror("sched_setscheduler");
  for (;;) {
    pthread_mutex_lock(&mu_);
    while (asked_ == answered_) pthread_cond_wait(&more_, &mu_);
    pthread_mutex_unlock(&mu_);
    compile_variant();
    pthread_mutex_lock(&mu_);
    answered_++;
    pthread_cond_signal(&done_);
    pthread_mutex_unlock(&mu_);
  }
  return unused;
}
__attribute__((noinline)) static void wait_for_variant(void) {
  pthread_mutex_lock(&mu_);
  asked_++;
  pthread_cond_signal(&more_);
  while (answered_ < asked_) pthread_cond_wait(&done_, &mu_);
  pthread_mutex_unlock(&mu_);
}
static void step(uint64_t i) {
  if (i == 0) tell(at_);
  wait_for_variant();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(300 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "build")) return build();
  name("renderer"); pin(0); calibrate(); gpu_init(0);
  pthread_t t; pthread_create(&t, 0, helper, 0);
  loop(step); unlink(at_); report(0); _exit(0);
}
