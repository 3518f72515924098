// R35 - benfred/py-spy#872: a sampling profiler that was attached to a program stops each of its threads by ptrace for
// every sample, walks their stacks, and lets them go. With many native threads the program was 5 to 15 times slower.
// Build: as hg.h says; Run: R35_profiler_stops (the program) beside "R35_profiler_stops sampler" (HOLLOW="kernel.default=20us")
// The sampler stops all threads of the program 100 times a second for some 4 ms, from the onset on. It needs root.
// TRUTH: T0 "trainer" does not run for some 4 ms, 100 times a second, because the process "stack-sampler" has stopped it by
// ptrace (PTRACE_INTERRUPT; state t, ptrace_stop); it does so to all threads of the program.
// To be wrong: it waits for a CPU (CPU 0 is idle meanwhile); a lock; the GPU; the program's own idle threads.
#include "meet.h"
#include <dirent.h>
#include <sys/ptrace.h>
static const char *at_ = "/var/tmp/cases/r35.meet";
enum { THREADS = 8, MOST = 64 };
static int threads_of(pid_t pid, pid_t *list) {
  char path[64]; snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *d = opendir(path);
  int n = 0;
  if (!d) return 0;
  for (struct dirent *e; n < MOST && (e = readdir(d));)
    if (atoi(e->d_name) > 0) list[n++] = atoi(e->d_name);
  closedir(d);
  return n;
}
// Stops all threads, reads their stacks, and lets them go.
static void sample(pid_t pid) {
  pid_t list[MOST], held[MOST];
  int n = threads_of(pid, list), m = 0, status;
  for (int i = 0; i < n; i++)
    if (!ptrace(PTRACE_SEIZE, list[i], 0, 0)) held[m++] = list[i];
  if (!m) kill(pid, SIGSTOP); // where ptrace is not allowed
  for (int i = 0; i < m; i++) ptrace(PTRACE_INTERRUPT, held[i], 0, 0);
  for (int i = 0; i < m; i++) waitpid(held[i], &status, __WALL);
  spin(4 * MS); // the stacks
  for (int i = 0; i < m; i++) ptrace(PTRACE_DETACH, held[i], 0, 0);
  if (!m) kill(pid, SIGCONT);
}
static int sampler(void) {
  name("stack-sampler"); pin(1);
  pid_t pid = expect(at_);
  uint64_t a = now();
  if (t_onset > a) nap(t_onset - a);
  for (; alive(pid); nap(6 * MS)) sample(pid);
  return 0;
}
static void *idle(void *x) { char b[16]; snprintf(b, 16, "pool%ld", (long)x); name(b); for (;;) nap(1000 * MS); return 0; }
static void step(uint64_t i) {
  if (i == 0) tell(at_);
  launches(40);
  cudaStreamSynchronize(st_);
  compute(2000 * US);
}
int main(int argc, char **argv) {
  options(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "sampler")) return sampler();
  name("trainer"); pin(0); calibrate(); gpu_init(0);
  for (long k = 0; k < THREADS; k++) { pthread_t t; pthread_create(&t, 0, idle, (void *)k); }
  loop(step); unlink(at_); report(0); _exit(0);
}
