// R44 - Xilinx/mlir-aie PR#3424 (and mila-iqia/platoon PR#62): processes of one user share a cache of compiled kernels, which is
// guarded by a lock on a file. One process holds it while it compiles, and the others stand still at their next look-up.
// Build: as hg.h says; Run: R44_cache_lock (the program) beside "R44_cache_lock tuner" (HOLLOW="kernel.default=20us")
// The program takes the lock (flock) for each look-up, one in a step. From the onset on the tuner holds it 6 ms of every 9.
// TRUTH: T0 "server" waits in flock() (find_kernel) for the lock on the file r44.cache.lock, which the process "autotuner"
// holds while it computes; no thread of the server holds it.
// To be wrong: the disk (nothing is written); a mutex of the program; a busy CPU (each has its own).
#include "meet.h"
static const char *at_ = "/var/tmp/cases/r44.meet", *file_ = "/var/tmp/cases/r44.cache.lock";
static int lock_;
static int open_cache(void) {
  mkdir("/var/tmp/cases", 0777);
  int fd = open(file_, O_RDWR | O_CREAT, 0666);
  if (fd < 0) { perror(file_); exit(1); }
  return fd;
}
__attribute__((noinline)) static void compile_variant(void) { spin(6 * MS); }
static int tuner(void) {
  name("autotuner"); pin(1);
  int fd = open_cache();
  pid_t pid = expect(at_);
  uint64_t a = now();
  if (t_onset > a) nap(t_onset - a);
  for (; alive(pid); nap(3 * MS)) { flock(fd, LOCK_EX); compile_variant(); flock(fd, LOCK_UN); }
  return 0;
}
__attribute__((noinline)) static void find_kernel(void) { flock(lock_, LOCK_EX); spin(20 * US); flock(lock_, LOCK_UN); }
static void step(uint64_t i) {
  if (i == 0) tell(at_);
  find_kernel();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(1200 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "tuner")) return tuner();
  name("server"); pin(0); lock_ = open_cache();
  gpu_init(0); loop(step); unlink(at_); report(0); _exit(0);
}
