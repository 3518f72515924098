-- Changes of a GPU's clock, or of why it is not higher, between two readings. What one of the two did
-- not tell is null in both.
create table gpu_clock_change (
  ts           integer primary key, -- of the later reading
  gpu          integer not null,
  from_mhz     integer, -- of the multiprocessors
  to_mhz       integer,
  from_reasons integer, -- nvmlClocksEventReasons
  to_reasons   integer,
  session      integer not null
) strict;
