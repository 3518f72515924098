-- What the kernels are called that a process launched.
create table kernel (
  session integer not null,
  pid     integer not null,
  func    integer not null, -- first argument of the launches
  name    text not null,
  symbol  text not null,
  source  integer not null, -- 1 registered, 2 loaded, 3 symbol
  primary key (session, pid, func)
) strict, without rowid;
