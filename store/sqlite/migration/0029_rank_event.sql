-- What a fleet said of the ranks on this node: something began or ended.
create table rank_event (
  ts        integer primary key,
  session   integer not null,
  type      text not null,
  event_id  text not null,    -- the same from beginning to end
  pid       integer,          -- null: not known
  rank      integer,          -- null: all ranks of the job
  ranks     integer,          -- of the job
  cohort    text,
  cluster   text,
  mode      text,
  resolved  integer not null, -- 1: it ended
  since     integer,
  own_ns    integer,          -- of the rank, in a step
  peer_ns   integer,          -- of what it is compared with
  step_ns   integer,
  cause     text,
  culprit   text,
  cause_ns  integer,          -- in a step
  explained real,             -- share of what the rank takes longer
  summary   text not null
) strict;
