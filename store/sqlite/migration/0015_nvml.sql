-- What NVML tells more of a GPU; null where it does not. From here on null means so in
-- the older columns too, which had it for 0 before.
alter table gpu_snapshot add column mem_util integer;   -- percent
alter table gpu_snapshot add column mem_clock integer;  -- MHz
alter table gpu_snapshot add column power integer;      -- mW
alter table gpu_snapshot add column power_limit integer; -- mW
alter table gpu_snapshot add column ecc_corrected integer;   -- since the driver was loaded
alter table gpu_snapshot add column ecc_uncorrected integer;
alter table gpu_snapshot add column ecc_corrected_ever integer;
alter table gpu_snapshot add column ecc_uncorrected_ever integer;
alter table gpu_snapshot add column mig integer;

create table gpu_device (
  session integer not null,
  gpu     integer not null,
  name    text not null,
  uuid    text not null,
  bus     text not null, -- PCI address
  driver  text not null, -- version
  primary key (session, gpu)
) strict, without rowid;

-- What a process had of a GPU's memory from then on: 0 bytes if nothing any more, null
-- if the driver does not tell how much.
create table gpu_process (
  ts    integer not null,
  gpu   integer not null,
  pid   integer not null,
  bytes integer,
  session integer not null,
  primary key (ts, session, gpu, pid)
) strict, without rowid;

-- Errors of GPUs that the driver reported. Never pruned, as there are few.
create table gpu_xid (
  ts   integer primary key,
  gpu  integer, -- null: not known
  xid  integer not null,
  name text,    -- null: not known
  session integer not null
) strict;
