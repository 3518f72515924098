-- The files of CUDA's libraries and of frameworks that traced processes use. They are kept, as processes
-- are.
create table library (
  session  integer not null,
  pid      integer not null,
  path     text not null,    -- of the file, as the process sees it
  build_id text not null,    -- hexadecimal; empty: none, or not read
  size     integer not null, -- bytes; 0: not read
  seen     integer not null, -- Unix ns, when it was found mapped
  name     text not null,
  version  text,
  primary key (session, pid, path, build_id, size)
) strict, without rowid;
