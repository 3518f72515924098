-- The framework by which a process uses the GPU (host/framework); null where not recorded.
alter table process add column framework text;
