-- How the scheduler treats a thread that had to wait for a CPU, or that ran
-- meanwhile; as last seen.
create table scheduling (
  session  integer not null,
  pid      integer not null,
  tid      integer not null,
  policy   integer not null, -- sched.h: 0 other, 1 fifo, 2 rr, 3 batch, 5 idle, 6 deadline
  nice     integer not null,
  realtime integer not null, -- priority, 1 to 99; 0 if the policy has none
  primary key (session, pid, tid)
) strict, without rowid;

-- The CPUs of each memory node, as the kernel lists them, of machines with several.
create table memory_node (
  session integer not null,
  node    integer not null,
  cpus    text not null,
  primary key (session, node)
) strict, without rowid;
