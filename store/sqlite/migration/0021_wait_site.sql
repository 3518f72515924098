-- Exact statistics of the calls that wait for the GPU, by the place in the program they are made
-- from: id = second << 20 | n, as in call_second. The site is the address to which the call
-- returns; 0 stands for all places beyond those that are told apart, and for unknown ones.
create table site_second (
  id     integer primary key,
  thread integer not null,
  op     integer not null,
  site   integer not null,
  calls  integer not null,
  sum    integer not null,
  max    integer not null,
  hist   blob not null
) strict;
