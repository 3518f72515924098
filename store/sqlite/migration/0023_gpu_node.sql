-- The memory node that a GPU is attached to, as memory_node numbers them; null: not known.
alter table gpu_device add column node integer;
