-- Readings of GPUs by nvidia-smi. A reading whose nanosecond is taken moves up.
create table gpu_snapshot (
  ts        integer primary key,
  gpu       integer not null,
  temp      integer, -- degrees Celsius
  clock     integer, -- MHz
  max_clock integer, -- MHz
  util      integer, -- percent
  reasons   integer, -- nvmlClocksEventReasons of nvml.h
  mem       integer, -- MiB in use
  mem_total integer  -- MiB
) strict;
