-- Ids of processes and threads are used again. When a process began, in clock ticks since the boot (field 22 of
-- /proc/PID/stat): the same process in two sessions has the same. Null: not known.
alter table process add column born integer;
-- When the thread with this row ended, Unix ns; null: not known to have ended. All rows of it, one for each of its
-- names, have the same.
alter table thread add column ended integer;
