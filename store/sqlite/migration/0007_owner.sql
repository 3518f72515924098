-- Who a process belongs to; null is unknown, and most processes have no row.
create table owner (
  process       integer primary key, -- of table process
  cgroup_id     integer, -- by which the kernel knows the control group
  container     text,
  runtime       text,
  pod_uid       text,
  namespace     text,
  pod           text,
  pod_container text,
  slurm_job     text,
  slurm_step    text,
  unit          text,
  ns_pid        integer -- process id inside its own PID namespace
) strict;
