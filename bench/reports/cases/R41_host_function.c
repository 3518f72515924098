// R41 - pytorch/FBGEMM PR#5462 (and NVIDIA/nccl#1742): work on the host that was put into a stream as a callback. The stream does not
// go on before the callback has returned, and with it everything that waits for the stream.
// Build: as hg.h says; Run: R41_host_function (HOLLOW="kernel.default=100us")
// In each step a host function between the kernels looks for rows of the embedding cache to evict. Until the onset it finds
// them in a short list; from the onset on it walks the whole table (some 3 ms).
// TRUTH: the GPU's stream stands still while the host function evict_rows (cudaLaunchHostFunc) runs on the driver's callback
// thread, on the CPU, some 3 ms in each step; T0 "embedding-train" waits in cudaStreamSynchronize meanwhile.
// To be wrong: the kernels became slower; T0's own code; a lock; another process.
#include "hg.h"
enum { ROWS = 1 << 16, SHORT = 256 };
static uint32_t table_[ROWS], found_;
__attribute__((noinline)) static void evict_rows(void *all) {
  uint64_t end = now() + (all ? 3000 * US : 40 * US);
  uint32_t n = all ? ROWS : SHORT;
  do {
    for (uint32_t i = 0; i < SHORT; i++) {
      uint32_t k = (found_ + i) % n;
      table_[k] = table_[k] * 2654435761u + k;
      if ((table_[k] >> 20) == 0) table_[k] = k;
    }
    found_ += SHORT;
  } while (now() < end);
}
static void step(uint64_t i) {
  launches(10);
  cudaLaunchHostFunc(st_, evict_rows, faulty ? table_ : 0);
  launches(10);
  cudaStreamSynchronize(st_);
  spin(200 * US);
}
int main(int argc, char **argv) { options(argc, argv); name("embedding-train"); gpu_init(4); loop(step); report(0); _exit(0); }
