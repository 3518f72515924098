-- The table that has a row for everything has lines, spans, and the first point of each series from now on, besides the
-- points that it has.
alter table point rename to record;
