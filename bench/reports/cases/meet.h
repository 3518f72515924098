// meet.h - for cases of several processes or threads: how a second process (Case.beside) finds the first one and learns when
// the fault begins, and work that takes CPU time, not time.
#pragma once
#include "hg.h"
#include <sys/stat.h>
// tell: the first process says who it is, and when the fault begins. To be called in its first step.
static inline void tell(const char *path) {
  char part[160];
  snprintf(part, sizeof part, "%s.part", path);
  mkdir("/var/tmp/cases", 0777);
  FILE *f = fopen(part, "w");
  if (!f) { perror(part); return; }
  fprintf(f, "%d %lu\n", getpid(), t_onset);
  fclose(f);
  rename(part, path);
}
// expect: the second process waits until the first one has told. It returns the first one's pid, and sets t_onset.
static inline pid_t expect(const char *path) {
  for (;; nap(20 * MS)) {
    FILE *f = fopen(path, "r");
    int pid, n = 0;
    unsigned long at = 0;
    if (f) { n = fscanf(f, "%d %lu", &pid, &at); fclose(f); }
    if (n == 2 && at > now() && !kill(pid, 0)) { t_onset = at; return pid; } // else: of an earlier run
  }
}
// compute: that much CPU time of this thread, without system calls; a thread that is stopped, or has no CPU, takes longer.
static double turns_in_ns_;
static volatile uint64_t turned_;
__attribute__((noinline)) static void turn(uint64_t n) {
  uint64_t x = n;
  for (; n; n--) x = x * 6364136223846793005ull + 1442695040888963407ull;
  turned_ = x;
}
static inline void calibrate(void) {
  for (int i = 0; i < 5; i++) {
    uint64_t a = now(); turn(2000000);
    double rate = 2000000.0 / (now() - a);
    if (rate > turns_in_ns_) turns_in_ns_ = rate;
  }
}
static inline void compute(uint64_t ns) { turn(ns * turns_in_ns_); }
// alive: the first process has not ended.
static inline int alive(pid_t pid) { return !kill(pid, 0); }
