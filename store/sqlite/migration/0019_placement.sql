-- On which CPUs a thread may run, as the kernel lists them; null where not recorded.
alter table scheduling add column cpus text;

-- How busy each CPU was in the second: a byte for each, by number, 1 more than the percentage, or 127
-- for a number that no CPU has which is online. Null where not recorded.
alter table snapshot add column cpus blob;
