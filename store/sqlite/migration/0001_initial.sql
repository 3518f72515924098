-- Tables of a recording. Times are Unix nanoseconds, durations nanoseconds.
-- NULL stands for zero or unknown wherever a column allows it: it takes one
-- byte less than any number. Rows keyed by ts carry the time of their start;
-- a row whose key is taken moves up by one nanosecond.

create table meta (
  key   text primary key,
  value text not null
) strict, without rowid;

create table session (
  id         integer primary key,
  node       text not null,
  host       text not null,
  kernel     text not null,
  arch       text not null,
  cpus       integer not null,
  memory     integer not null,
  version    text not null,
  backend    text not null,
  tracer     integer not null, -- process id of the tracer
  flags      text not null,
  started_ns integer not null,
  stopped_ns integer not null default 0, -- 0: it did not stop cleanly
  flushed_ns integer not null default 0,
  first_ns   integer not null default 0, -- earliest event
  last_ns    integer not null default 0, -- latest end of an event
  calls      integer not null default 0, -- exact, thinned ones included
  stored     integer not null default 0, -- rows of call written
  pruned     integer not null default 0  -- rows of call of any session deleted by this one
) strict;

create table source_name (
  id   integer primary key,
  name text not null,
  doc  text not null
) strict;

create table op_name (
  id     integer primary key, -- source << 8 | n
  source integer not null,
  name   text not null,
  doc    text not null
) strict;

create table class_name (
  id   integer primary key,
  name text not null
) strict;

create table loss_name (
  id          integer primary key,
  name        text not null,
  unit        text not null,
  approximate integer not null,
  doc         text not null
) strict;

create table syscall_name (
  arch text not null,
  id   integer not null,
  name text not null,
  primary key (arch, id)
) strict, without rowid;

create table cgroup (
  id   integer primary key,
  path text not null
) strict;

create table process (
  id         integer primary key,
  session    integer not null,
  pid        integer not null,
  parent     integer not null,
  name       text not null,
  command    text not null,
  cgroup     integer,
  rank       integer,
  local_rank integer,
  world_size integer,
  traced     integer not null
) strict;

create index process_pid on process (pid, session);

-- One row per thread, and one more for each new name it took.
create table thread (
  id       integer primary key,
  session  integer not null,
  pid      integer not null,
  tid      integer not null,
  comm     text not null,
  dispatch integer not null
) strict;

-- Arguments repeat: a row holds one combination.
create table args (
  id integer primary key,
  a0 integer,
  a1 integer,
  a2 integer,
  a3 integer
) strict;

create table call (
  ts      integer primary key,
  thread  integer not null,
  op      integer not null,
  dur     integer not null,
  ret     integer,
  args    integer,
  gpu     integer, -- null: unknown
  depth   integer,
  stack   integer,
  weight  integer  -- calls this row stands for; null: 1
) strict;

-- The calls that are slow, failed, first or waiting. A partial index would do,
-- but inserting a call that is not in it would cost an eighth more.
create table notable (
  ts integer primary key
) strict;

-- Off-CPU time of a call by class.
create table call_ledger (
  ts          integer primary key,
  runq        integer,
  throttled   integer,
  futex       integer,
  block_io    integer,
  fault       integer,
  network     integer,
  pipe        integer,
  poll        integer,
  sleep       integer,
  ioctl       integer,
  other       integer,
  voluntary   integer,
  involuntary integer
) strict;

-- Time between a thread's outermost calls, when it was off the CPU in it.
create table gap (
  ts          integer primary key,
  thread      integer not null,
  next        integer not null,
  dur         integer not null,
  notable     integer,
  runq        integer,
  throttled   integer,
  futex       integer,
  block_io    integer,
  fault       integer,
  network     integer,
  pipe        integer,
  poll        integer,
  sleep       integer,
  ioctl       integer,
  other       integer,
  voluntary   integer,
  involuntary integer
) strict;

create index gap_notable on gap (notable) where notable = 1;

-- Intervals in which an accounted thread was off the CPU.
create table interval (
  ts            integer primary key,
  thread        integer not null,
  dur           integer not null,
  runq          integer,
  op            integer,
  class         integer not null,
  syscall       integer, -- null: none
  state         integer,
  dispatch      integer,
  followed      integer,
  futex         integer,
  holder        integer,
  inode         integer,
  waker         integer,
  waker_futex   integer,
  waker_syscall integer, -- null: none
  out_cpu       integer,
  in_cpu        integer,
  idle          integer,
  stack         integer
) strict;

-- Who ran on the CPU meanwhile; n orders them, most time first.
create table culprit (
  off_cpu integer not null,
  n       integer not null,
  thread  integer not null,
  dur     integer not null,
  primary key (off_cpu, n)
) strict, without rowid;

create table thread_time (
  ts        integer primary key,
  thread    integer not null,
  on_cpu    integer,
  runq      integer,
  throttled integer,
  futex     integer,
  block_io  integer,
  fault     integer,
  network   integer,
  pipe      integer,
  poll      integer,
  sleep     integer,
  ioctl     integer,
  other     integer,
  runtime   integer,
  dispatch  integer,
  followed  integer
) strict;

create table life (
  ts     integer primary key,
  kind   integer not null,
  thread integer not null,
  parent integer,
  op     integer,
  dur    integer
) strict;

create table stack (
  id   integer primary key,
  hash integer not null unique,
  pid  integer
) strict;

create table frame (
  id     integer primary key,
  kind   integer not null,
  addr   integer,
  symbol text not null,
  file   text not null,
  line   integer,
  module text not null,
  offset integer
) strict;

create table stack_entry (
  stack integer not null,
  depth integer not null,
  frame integer not null,
  primary key (stack, depth)
) strict, without rowid;

-- Exact statistics: id = second << 20 | n.
create table call_second (
  id          integer primary key,
  thread      integer not null,
  op          integer not null,
  calls       integer not null,
  errors      integer,
  sum         integer not null,
  max         integer not null,
  bytes       integer,
  first       integer not null,
  last        integer not null,
  runq        integer,
  throttled   integer,
  futex       integer,
  block_io    integer,
  fault       integer,
  network     integer,
  pipe        integer,
  poll        integer,
  sleep       integer,
  ioctl       integer,
  other       integer,
  voluntary   integer,
  involuntary integer,
  hist        blob not null
) strict;

create table gap_second (
  id          integer primary key,
  thread      integer not null,
  gaps        integer not null,
  sum         integer not null,
  runq        integer,
  throttled   integer,
  futex       integer,
  block_io    integer,
  fault       integer,
  network     integer,
  pipe        integer,
  poll        integer,
  sleep       integer,
  ioctl       integer,
  other       integer,
  voluntary   integer,
  involuntary integer
) strict;

create table loss (
  second  integer not null,
  session integer not null,
  kind    integer not null,
  count   integer not null,
  primary key (second, session, kind)
) strict, without rowid;

create table throttle (
  ts      integer primary key,
  cgroup  integer not null,
  periods integer not null,
  ns      integer not null
) strict;

create table stall (
  ts  integer primary key,
  dur integer not null,
  cpu integer not null
) strict;

create table snapshot (
  ts        integer primary key,
  cpu_pct   real not null,
  mem_pct   real not null,
  mem_avail integer not null, -- MiB
  swap      integer not null, -- MiB used
  load_avg  real not null,
  steal_pct real not null
) strict;

create table causal_chains (
  id              text primary key,
  detected_at     integer not null,
  node            text not null default '',
  severity        text not null,
  summary         text not null,
  root_cause      text not null,
  explanation     text not null,
  recommendations text not null default '',
  cuda_op         text not null default '',
  cuda_p99_us     integer not null default 0,
  cuda_p50_us     integer not null default 0,
  tail_ratio      real not null default 0,
  timeline        text not null default ''
) strict;
