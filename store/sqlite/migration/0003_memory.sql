-- What processes have allocated by their traced calls. thread is the main one.
-- Counts and times are since the process's row before.
create table memory_second (
  ts            integer primary key,
  thread        integer not null,
  space         integer not null, -- 0 device, 1 page-locked host memory
  live_bytes    integer not null,
  live_count    integer not null,
  peak_bytes    integer not null,
  allocs        integer,
  frees         integer,
  failed        integer,
  bytes         integer,
  alloc_ns      integer,
  free_ns       integer,
  unknown_frees integer,
  untracked     integer
) strict;

-- The places in the code that hold most of it, when that changed.
create table memory_site (
  ts         integer primary key,
  thread     integer not null,
  space      integer not null,
  op         integer not null,
  stack      integer,
  live_bytes integer not null,
  live_count integer not null,
  oldest     integer
) strict;
