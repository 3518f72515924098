-- CPU time in the kernel since the thread's birth, ns, as the kernel itself counts it by timer ticks; null: not recorded.
alter table thread_time add column kernel integer;
