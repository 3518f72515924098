-- What threads ran when a timer interrupted them. op is the CUDA call that it was in, syscall the system call; null: in
-- none. stack has the functions, of the kernel and of the program; null: not known.
create table code_sample (
  ts integer primary key,
  thread integer not null,
  op integer,
  syscall integer,
  stack integer
) strict;
