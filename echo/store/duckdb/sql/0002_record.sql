-- The table that has a row for everything has lines and spans from now on, and the points that it has.
alter table point rename to record;
