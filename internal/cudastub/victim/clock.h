/* Time and CPU work. */
#ifndef VICTIM_CLOCK_H
#define VICTIM_CLOCK_H

#include <stdint.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

uint64_t now_ns(void);             /* CLOCK_MONOTONIC */
uint64_t unix_ns(void);            /* since 1970 */
uint64_t thread_cpu_ns(void);      /* CPU time of the calling thread */
void work_ns(uint64_t ns);         /* CPU work; time spent descheduled does not count */
void sleep_until_ns(uint64_t t);   /* returns early on a signal */
void name_thread(const char *name);/* cut to 15 characters, as the kernel does */
void thread_comm(char out[16]);
int thread_id(void);
int pin_to_cpu(int cpu);           /* this thread; 0 or -1 */

#endif
