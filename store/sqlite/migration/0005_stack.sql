-- What identifies the contents of a frame's module (the linker's build id, in
-- hex), so that names can be looked up later. Frames of modules without one have
-- no row.
create table frame_build (
  frame    integer primary key,
  build_id text not null
) strict;

-- Stacks with callers behind the last frame that could not be found.
create table stack_cut (
  stack integer primary key
) strict;
