-- Which run of which machine's kernel a session belongs to (boot_id): recordings of
-- several machines may be merged into one file, and process ids mean something on one
-- of them only. Rows of the machine say whose they are; null: of the only session then.
alter table session add column boot text not null default '';
alter table throttle add column session integer;
alter table stall add column session integer;
alter table snapshot add column session integer;
alter table gpu_snapshot add column session integer;
alter table tcp add column session integer;
