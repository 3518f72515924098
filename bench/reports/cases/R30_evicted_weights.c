// R30 - sgl-project/sglang PR#7469, pytorch/executorch PR#18236: weights that are read through a memory mapping of their
// file are copied at a fraction of the disk's speed, and each copy takes another time: the pages are not in memory, so
// every few pages the copying thread takes a page fault and waits for the disk.
// Here a server keeps its experts in a mapped file and copies the ones that a step needs to the GPU. From the onset on
// the experts do not stay in memory (MADV_PAGEOUT after each use stands for a machine whose memory is short).
// Build: as hg.h says; Run: R30_evicted_weights (HOLLOW="kernel.default=20us"); the file is on the disk, not in a tmpfs.
// TRUTH: T0 "expert-server" waits in page faults of load_expert (memcpy from the mapping), which read the file
// r30.experts.safetensors from the disk; no launches meanwhile. Not the GPU, not the copy to it, not another process.
// To be wrong: the GPU is slow; the CPU is taken away; own code (the same memcpy took 0.3 ms before).
#include "hg.h"
#include <sys/stat.h>
enum { EXPERTS = 48, EXPERT = 2 << 20 };
static const char *file_ = "/var/tmp/cases/r30.experts.safetensors";
static char *map_;
static unsigned rs;
static int evicted_;
static void evict(char *p, size_t n) {
  if (madvise(p, n, MADV_PAGEOUT)) perror("madvise");
}
static int open_weights(void) {
  mkdir("/var/tmp/cases", 0777);
  int fd = open(file_, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) { perror(file_); exit(1); }
  char *b = malloc(EXPERT);
  for (int e = 0; e < EXPERTS; e++) {
    for (int i = 0; i < EXPERT; i += 8) *(uint64_t *)(b + i) = (uint64_t)e << 32 | i;
    if (write(fd, b, EXPERT) != EXPERT) { perror(file_); exit(1); }
  }
  free(b);
  fsync(fd); // only clean pages can be dropped
  return fd;
}
__attribute__((noinline)) static void load_expert(int e) {
  char *from = map_ + (size_t)e * EXPERT;
  memcpy(host_, from, EXPERT);
  cudaMemcpyAsync(dev_, host_, EXPERT, 1, st_);
  if (faulty) evict(from, EXPERT);
}
static void step(uint64_t i) {
  if (faulty && !evicted_) { evicted_ = 1; evict(map_, (size_t)EXPERTS * EXPERT); }
  load_expert(rand_r(&rs) % EXPERTS);
  launches(20);
  cudaStreamSynchronize(st_);
  spin(600 * US);
}
int main(int argc, char **argv) {
  options(argc, argv); name("expert-server"); pin(0); rs = seed;
  int fd = open_weights();
  map_ = mmap(0, (size_t)EXPERTS * EXPERT, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (map_ == MAP_FAILED) { perror("mmap"); return 1; }
  unlink(file_); // it is gone when the program ends
  gpu_init(0); loop(step);
  struct rusage r; getrusage(RUSAGE_SELF, &r);
  char b[96]; snprintf(b, sizeof b, "\"majflt\":%ld,\"minflt\":%ld", r.ru_majflt, r.ru_minflt);
  report(b); _exit(0);
}
