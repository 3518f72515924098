-- Settings of the machine, and of processes, from a time on: a row once, and when one changes.
create table setting (
  session integer not null,
  pid     integer not null, -- 0: of the machine
  name    text not null,
  ts      integer not null, -- when it was seen
  value   text,             -- null: not set any more
  primary key (session, pid, name, ts)
) strict, without rowid;
