-- What programs say they work on, by the tracer's socket: key and value from a time on, until the key is
-- set again (value null: to none) or the process ends (a row without a key).
create table label (
  ts         integer primary key, -- at which it arrived
  session    integer not null,
  pid        integer not null,
  start_time integer not null,    -- of the process, clock ticks since boot; 0: not known
  since      integer not null,
  until      integer,             -- of a label of a span; null: see above
  key        text,
  value      text,
  sender_pid integer,
  sender_uid integer,
  sender_gid integer
) strict;

create index label_next on label (pid, key, ts);
