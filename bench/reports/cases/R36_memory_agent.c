// R36 - ray-project/ray#55117: training was slower by a third because an agent on the node asked for the memory of each worker
// again and again (psutil's memory_full_info, which reads /proc/PID/smaps_rollup). For that the kernel walks the page
// tables of the worker with its memory map locked: a worker that maps or unmaps memory meanwhile waits.
// Build: as hg.h says; Run: R36_memory_agent (the program) beside "R36_memory_agent agent" (HOLLOW="kernel.default=20us")
// The program has 768 MB in small pages, and maps and unmaps a buffer in each step. The agent reads from the onset on.
// TRUTH: T0 "worker" waits in mmap()/munmap() (of stage_batch) for its own memory map's lock (mmap_lock), which the process
// "metrics-agent" holds while it reads /proc/PID/smaps_rollup; nearly all the time.
// To be wrong: memory is short; page faults; the agent takes the CPU (it runs on CPU 1, which is free); a lock of the program.
#include "meet.h"
static const char *at_ = "/var/tmp/cases/r36.meet";
static uint64_t reads_;
static int agent(void) {
  name("metrics-agent"); pin(1);
  pid_t pid = expect(at_);
  uint64_t a = now();
  if (t_onset > a) nap(t_onset - a);
  char path[64], b[4096]; snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
  for (; alive(pid); nap(500 * US)) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 1;
    while (read(fd, b, sizeof b) > 0) {}
    close(fd);
  }
  return 0;
}
__attribute__((noinline)) static void stage_batch(void) {
  size_t n = 256 << 10;
  char *m = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t k = 0; k < n; k += 4096) m[k] = 1;
  munmap(m, n);
}
static void step(uint64_t i) {
  if (i == 0) tell(at_);
  stage_batch();
  launches(20);
  cudaStreamSynchronize(st_);
  spin(2000 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "agent")) return agent();
  name("worker"); pin(0);
  size_t n = 768ul << 20;
  char *m = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(m, n, MADV_NOHUGEPAGE);
  for (size_t k = 0; k < n; k += 4096) m[k] = 1; // the worker's cached data
  gpu_init(0); loop(step); unlink(at_); report(0); _exit(0);
}
