-- Each rank's part in a collective operation. ts is when it was queued.
create table collective (
  ts        integer primary key,
  thread    integer not null,
  op        integer not null,
  start     integer not null, -- of the call
  dur       integer not null,
  ret       integer,
  comm      integer not null, -- handle in the process
  comm_id   integer,          -- the same on all ranks; null: unknown
  rank      integer,          -- null: unknown
  ranks     integer,
  seq       integer,          -- null: unknown
  bytes     integer,
  datatype  integer,
  reduce_op integer,
  peer      integer,          -- null: none
  stream    integer,
  grp       integer,          -- start of the group around it; null: none
  sync_op   integer,          -- what waited for it; null: nothing was seen to
  sync_tid  integer,
  sync_ts   integer,
  sync_dur  integer
) strict;

create index collective_seq on collective (comm_id, seq);
