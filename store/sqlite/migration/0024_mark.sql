-- Ranges and marks that programs set themselves, by NVTX. The answer is a level or the id of a range,
-- as the operation has it.
create table mark (
  ts       integer primary key,
  thread   integer not null,
  op       integer not null,
  dur      integer not null, -- of the call
  domain   integer,
  answer   integer,
  category integer,
  text     text,
  message  integer           -- where the text was, or the handle of one that is registered
) strict;
