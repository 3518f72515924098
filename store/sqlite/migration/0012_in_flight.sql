-- Calls that did not return for a second or more, as last seen; and, with op 0,
-- threads that held what such a call waited for (start is that call's).
create table in_flight (
  session     integer not null,
  tid         integer not null,
  thread      integer not null,
  start       integer not null,
  seen        integer not null, -- when it was looked at last
  op          integer not null,
  inner       integer,          -- the innermost call, if another
  args        integer,
  gpu         integer,
  doing       integer not null, -- 1 running, 2 runnable, 3 blocked
  since       integer,
  class       integer,          -- of the wait, if blocked
  futex       integer,
  holder      integer,          -- thread
  syscall     integer,          -- null: none
  inode       integer,
  file        text,
  on_cpu      integer,
  stack       integer,
  kernel      integer,          -- stack
  outcome     integer,          -- null: in flight; 1 returned, 2 its thread ended in it, 3 left without a return
  end_ns      integer,
  runq        integer,
  throttled   integer,
  futex_ns    integer,
  block_io    integer,
  fault       integer,
  network     integer,
  pipe        integer,
  poll        integer,
  sleep       integer,
  ioctl       integer,
  other       integer,
  primary key (session, tid, start)
) strict, without rowid;

-- Pressure of the machine in the second before: the share of it in which some, or
-- all, tasks that were not idle waited (/proc/pressure), in percent; null: not told.
alter table snapshot add column psi_cpu_pct real;
alter table snapshot add column psi_memory_pct real;
alter table snapshot add column psi_memory_full_pct real;
alter table snapshot add column psi_io_pct real;
alter table snapshot add column psi_io_full_pct real;
