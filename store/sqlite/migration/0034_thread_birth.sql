-- When the process of the thread with this row began, in clock ticks since the boot, by the kernel's own records; null:
-- not known. Several processes of a session may have had its id, of which the table process has only the last.
alter table thread add column born integer;
