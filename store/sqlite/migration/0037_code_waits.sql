-- 1 if the thread went to sleep in the system call, null if it was on a CPU.
alter table code_sample add column waits integer;
