-- On which CPUs a thread might run before its affinity last changed, and when that was seen, Unix ns; null if it has not.
alter table scheduling add column before_cpus text;
alter table scheduling add column changed integer;
