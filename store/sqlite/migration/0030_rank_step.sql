-- What was measured of processes that are, or may be, ranks of a distributed job: a row per process and second.
-- Sums are of the steps that ended in it.
create table rank_step (
  ts      integer primary key, -- up to which it was measured
  session integer not null,
  pid     integer not null,
  rank    integer,          -- null: no steps are counted
  ranks   integer,          -- of the communicator
  comm    integer,          -- the communicator
  every   integer,          -- its operations that make a step
  key     integer,          -- the same for all ranks whose steps can be compared
  first   integer,          -- number of the first step
  steps   integer not null, -- how many
  begin   integer,          -- of the first step
  own_ns  integer,          -- sum of own work
  wait_ns integer,          -- sum of waits in collectives
  gpu_ns  integer,          -- part of own_ns in which the rank's own GPU was waited for
  work    real,             -- sum of launches, graphs and copies
  clock   real,             -- mean of the GPU's, as a share of the highest; null: not known
  device  integer,          -- 1: waits were measured on the GPU
  why     text,             -- why nothing is measured, or what to know of it
  skipped integer,          -- steps since the start that were left out
  pairs   integer,          -- sends and receives since the start
  spare   integer,          -- 1: the host has time to spare
  entered integer,          -- number of the last operation of the communicator
  open_ns integer,          -- how long a wait that has not returned has taken
  waits   text,             -- ns that dispatching threads waited, by class, as JSON
  ended   integer,          -- 1: the process has ended
  data    blob              -- the steps, see rank_step.go; with the exact time
) strict;
