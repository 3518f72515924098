-- Settings of the machine, and of processes, from a time on: a row once, and when one changes.
create table setting (
  session integer not null,
  ts      integer not null, -- when it was seen
  pid     integer,          -- null: of the machine
  name    text not null,
  value   text              -- null: not set any more
) strict;
