-- Stretches of time in which nothing could be written, as while the disk was full.
create table pause (
  ts      integer primary key, -- when the last rows before it were written
  session integer not null,
  until   integer not null,
  why     text not null
) strict;
