// R51 - stackoverflow.com/questions/56173845 (and haskell/process#342): a program with much memory forks a child,
// which writes a snapshot of that memory while the program goes on. After each fork the program's pages are shared
// with the child, and the program's first write to each of them is a page fault, in which the kernel copies the page.
// Here a trainer keeps a table of embeddings on the host (512 MB in small pages), and changes some hundred rows in
// each step. From the onset on it forks a child every 0.6 s, which reads the whole table in some 0.45 s and ends.
// Build: as hg.h says; Run: R51_embedding_table (HOLLOW="kernel.default=20us")
// TRUTH: T0 "embedding-host" is on the CPU, in the kernel, in page faults of update_rows: copy-on-write, as its
// memory is shared with the snapshot's child ("table-snapshot") since its own fork(). Nothing is read from a disk; no
// launches meanwhile.
// To be wrong: memory is short; the disk; the child takes the CPU (it has CPU 1); update_rows has more to do; the
// GPU.
#include "hg.h"
enum { TABLE = 512 << 20, ROW = 256, ROWS = TABLE / ROW, NUMBERS = 16, CHANGED = 450, PART = 8 << 20 };
static char *table_;
static unsigned rs;
static pid_t child_;
static uint64_t due_, snapshots_, forking_;
static volatile uint64_t sum_of_table_;
// The child: it reads all of the table, part by part.
__attribute__((noinline)) static void write_snapshot(pid_t parent) {
  name("table-snapshot"); prctl(PR_SET_PDEATHSIG, SIGKILL); pin(1);
  if (getppid() != parent) _exit(0);
  int fd = open("/dev/null", O_WRONLY);
  for (size_t at = 0; at < TABLE; at += PART) {
    uint64_t sum = 0;
    for (size_t k = 0; k < PART; k += 64) sum += *(uint64_t *)(table_ + at + k);
    sum_of_table_ = sum;
    if (write(fd, table_ + at, PART) < 0) _exit(1);
    nap(6 * MS);
  }
  _exit(0);
}
__attribute__((noinline)) static void take_snapshot(void) {
  if (child_ && !waitpid(child_, 0, WNOHANG)) return; // the last one is not ready
  pid_t parent = getpid();
  uint64_t a = now();
  child_ = fork();
  if (child_ == 0) write_snapshot(parent);
  forking_ += now() - a;
  snapshots_++;
  due_ = a + 600 * MS;
}
__attribute__((noinline)) static void update_rows(void) {
  for (int i = 0; i < CHANGED; i++) {
    float *row = (float *)(table_ + (size_t)(rand_r(&rs) % ROWS) * ROW);
    for (int k = 0; k < NUMBERS; k++) row[k] = row[k] * 0.99f + 0.01f;
  }
}
static void step(uint64_t i) {
  if (faulty && now() >= due_) take_snapshot();
  update_rows();
  cudaMemcpyAsync(dev_, host_, CHANGED * ROW, 1, st_);
  launches(20);
  cudaStreamSynchronize(st_);
  spin(1000 * US);
}
int main(int argc, char **argv) {
  options(argc, argv); name("embedding-host"); pin(0); rs = seed;
  table_ = mmap(0, TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table_ == MAP_FAILED) { perror("mmap"); return 1; }
  madvise(table_, TABLE, MADV_NOHUGEPAGE);
  for (size_t k = 0; k < TABLE; k += 4096) *(float *)(table_ + k) = 1;
  gpu_init(0); loop(step);
  if (child_ > 0) { kill(child_, SIGKILL); waitpid(child_, 0, 0); }
  struct rusage r; getrusage(RUSAGE_SELF, &r);
  char b[128];
  snprintf(b, sizeof b, "\"snapshots\":%lu,\"forking_ms\":%.1f,\"minflt\":%ld", snapshots_, forking_ / 1e6,
           r.ru_minflt);
  report(b); _exit(0);
}
