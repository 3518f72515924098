-- What the views need to show a row for each call where one stored row stands for weight
-- calls: the time that the weight - 1 others took together, in ns. Null where weight is, and
-- in rows from before this schema.
alter table call add column rest integer;

-- Where the others asked for other sizes than the stored call (Info.BytesArg): the sum of theirs.
create table rest_size (
  ts   integer primary key, -- of the call
  size integer not null
) strict;

-- The numbers from 0 on, as many as the largest weight: a view repeats a row by joining it.
create table tally (
  n integer primary key
) strict;

with recursive x (n) as (
  select 0 union all select n + 1 from x where n + 1 < (select max(1024, coalesce(max(weight), 1)) from call)
)
insert into tally select n from x;
