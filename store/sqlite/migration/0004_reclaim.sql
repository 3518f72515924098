-- Spans in which a thread that wanted memory freed some first.
create table reclaim (
  ts     integer primary key,
  thread integer not null,
  dur    integer not null,
  ns     integer not null, -- of dur, in reclaim
  kind   integer not null, -- 1 direct, 2 cgroup, 3 compaction
  parts  integer not null
) strict;

-- The memory limit that a process was under when it first reclaimed because of it.
create table memory_limit (
  session integer not null,
  pid     integer not null,
  cgroup  text not null,
  bytes   integer not null,
  primary key (session, pid)
) strict, without rowid;

-- What an interval of class network waited for; ts is the interval's.
create table socket (
  ts     integer primary key,
  kind   integer not null, -- 1 tcp, 2 unix, 3 other
  lport  integer,
  rport  integer,
  remote text,    -- address of the other end
  peer   integer, -- process id at the other end
  bound  integer
) strict;
