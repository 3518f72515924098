-- What processes asked of the kernel and touched. System calls are counts of what
-- returned since the row before; the other tables hold totals, written over.
create table syscall_second (
  ts      integer not null, -- Unix ns, the end of the time that is counted
  session integer not null,
  pid     integer not null,
  nr      integer not null, -- on the session's architecture
  calls   integer not null,
  errors  integer,
  sum     integer not null, -- ns, waiting included
  cpu     integer not null, -- ns of that on a CPU
  max     integer,          -- ns of the longest, if longer than any before
  primary key (ts, session, pid, nr)
) strict, without rowid;

create table syscall_error (
  session integer not null,
  pid     integer not null,
  nr      integer not null,
  errno   integer not null,
  name    text not null,
  count   integer not null,
  primary key (session, pid, nr, errno)
) strict, without rowid;

-- A file, directory, device, pipe or socket of a process.
create table touched (
  session     integer not null,
  pid         integer not null,
  device      integer not null,
  inode       integer not null,
  generation  integer not null,
  kind        integer not null, -- event.TouchKind
  path        text not null,
  opens       integer not null,
  reads       integer not null,
  read_bytes  integer not null,
  writes      integer not null,
  write_bytes integer not null,
  errors      integer not null,
  first       integer not null, -- Unix ns
  family      text,             -- from here on: of sockets
  protocol    text,
  local_port  integer,
  remote_port integer,
  remote      text,
  peer        integer,
  how         integer,          -- bits: 1 connect, 2 accept, 4 listen
  primary key (session, pid, device, inode, generation)
) strict, without rowid;

create table path_miss (
  session integer not null,
  pid     integer not null,
  errno   integer not null,
  path    text not null,
  name    text not null,
  count   integer not null,
  primary key (session, pid, errno, path)
) strict, without rowid;

create table program (
  ts      integer not null, -- Unix ns
  session integer not null,
  pid     integer not null,
  path    text not null,
  args    text not null,    -- JSON list
  primary key (ts, session, pid)
) strict, without rowid;

create table mapped_library (
  session integer not null,
  pid     integer not null,
  path    text not null,
  primary key (session, pid, path)
) strict, without rowid;

create table process_cpu (
  session integer not null,
  pid     integer not null,
  parent  integer,
  comm    text not null,
  first   integer not null, -- Unix ns
  ended   integer,          -- Unix ns
  cpu     integer not null, -- ns on CPUs
  kernel  integer not null, -- ns of that in system calls
  primary key (session, pid)
) strict, without rowid;
