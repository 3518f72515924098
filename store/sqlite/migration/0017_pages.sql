-- The memory that processes were given by the kernel's page allocator, about once a
-- second, recorded with --pages. thread is the main one, null for process 0.
create table page_second (
  ts      integer primary key,
  thread  integer,
  allocs  integer not null,
  pages   integer not null,
  bytes   integer not null,
  nowait  integer, -- of bytes, for who must not wait
  failed  integer  -- allocations that got nothing
) strict;

-- What the whole machine swapped since the snapshot before the one at ts; only of
-- seconds in which it did.
create table swap_second (
  ts      integer primary key,
  swapped_in  integer, -- bytes
  swapped_out integer  -- bytes
) strict;
