-- The memory that processes were given by the kernel's page allocator, about once a
-- second, recorded with --pages. thread is the main one, null for process 0.
create table page_second (
  ts      integer primary key,
  thread  integer,
  allocs  integer not null,
  pages   integer not null,
  bytes   integer not null,
  nowait  integer, -- of bytes, for who must not wait
  failed  integer, -- allocations that got nothing
  session integer not null
) strict;

-- What the whole machine swapped since the snapshot before, in bytes; null where it was
-- not read.
alter table snapshot add column swapped_in integer;
alter table snapshot add column swapped_out integer;
