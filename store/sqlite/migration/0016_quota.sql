-- The quota that throttled a control group: CPU time a period, both in microseconds, and
-- the version of control groups (1 or 2), whose files differ. Null where not recorded.
alter table throttle add column quota_us integer;
alter table throttle add column period_us integer;
alter table throttle add column version integer;
