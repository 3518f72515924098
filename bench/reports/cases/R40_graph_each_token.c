// R40 - ggml-org/llama.cpp#19345 (and am17an/llama.cpp#45): the decoder's CUDA graph does not fit the next token (its nodes changed),
// so it is captured and instantiated again for token after token instead of being launched again; the CPU is busy, the GPU waits.
// Build: as hg.h says; Run: R40_graph_each_token (HOLLOW="kernel.default=10us;alloc=900us": an instantiation takes 1.2 ms)
// A token is a graph of 300 kernels. Until the onset it is captured once. From the onset on each token captures it again,
// instantiates it and destroys the one before.
// TRUTH: T0 "llama-decode": the graph is captured and instantiated for each token (cudaStreamBeginCapture, 300 launches into
// the capture, cudaGraphInstantiate, cudaGraphExecDestroy in update_graph), some 1.7 ms in which the GPU has nothing to do.
// To be wrong: the GPU is slow (a launched graph takes as long as before); another process; too many launches as such.
#include "hg.h"
enum { NODES = 300 };
int cudaStreamBeginCapture(handle, int), cudaStreamEndCapture(handle, handle *), cudaGraphInstantiate(handle *, handle, unsigned long long);
int cudaGraphLaunch(handle, handle), cudaGraphExecDestroy(handle), cudaGraphDestroy(handle);
static handle exec_;
static uint64_t captured_;
__attribute__((noinline)) static void update_graph(void) {
  handle g = 0, e = 0;
  cudaStreamBeginCapture(st_, 0);
  launches(NODES);
  if (cudaStreamEndCapture(st_, &g) || cudaGraphInstantiate(&e, g, 0)) { fprintf(stderr, "the capture failed\n"); exit(1); }
  cudaGraphDestroy(g);
  if (exec_) cudaGraphExecDestroy(exec_);
  exec_ = e; captured_++;
}
static void step(uint64_t i) {
  if (!exec_ || faulty) update_graph();
  cudaGraphLaunch(exec_, st_);
  cudaStreamSynchronize(st_);
  spin(200 * US); // sampling
}
int main(int argc, char **argv) {
  options(argc, argv); name("llama-decode"); gpu_init(0);
  loop(step);
  char b[64]; snprintf(b, sizeof b, "\"captures\":%lu", captured_);
  report(b); _exit(0);
}
