-- Whether the calls of a roll-up were within other calls of their thread (1) or not (0), so
-- that sums over operations count no time twice; null where that was not recorded.
alter table call_second add column nested integer;
