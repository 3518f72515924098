-- Requests to block devices, one by one as far as the rate limit allowed. thread is
-- who caused it; by is the kernel's thread that made it for them.
create table request (
  ts     integer primary key,
  thread integer not null,
  op     integer not null,
  dev    integer not null, -- major << 20 | minor
  dur    integer not null, -- queue and device
  queue  integer,
  sector integer,
  bytes  integer,
  flags  integer, -- 1 sync, 2 meta, 4 fua, 8 preflush, 16 ahead
  inode  integer,
  by     integer, -- thread id
  error  integer  -- blk_status_t
) strict;

-- What a process did at a device in a second: all of its requests.
create table request_second (
  ts       integer primary key,
  second   integer not null, -- Unix ns at which it began
  thread   integer not null, -- the process's main one
  op       integer not null,
  dev      integer not null,
  requests integer not null,
  errors   integer,
  bytes    integer,
  queue    integer,
  device   integer,
  max      integer -- longest, queue and device together
) strict;

create table device (
  session integer not null,
  dev     integer not null,
  name    text not null,
  primary key (session, dev)
) strict, without rowid;

-- The path by which a process had a file open or mapped that it waited for.
create table file (
  session integer not null,
  pid     integer not null,
  inode   integer not null,
  path    text not null,
  primary key (session, pid, inode)
) strict, without rowid;

-- What happened to TCP connections.
create table tcp (
  ts      integer primary key,
  thread  integer, -- null: not known
  op      integer not null,
  dur     integer,
  local   text not null,
  lport   integer,
  remote  text not null,
  rport   integer,
  state   integer,
  error   integer,
  bytes   integer,
  retrans integer,
  rtt     integer, -- us
  min_rtt integer  -- us
) strict;

-- How processes used the host's memory, about once a second; faults are since the row
-- before. thread is the main one.
create table host_memory (
  ts        integer primary key,
  thread    integer not null,
  minor     integer,
  major     integer,
  rss       integer,
  swap      integer
) strict;
