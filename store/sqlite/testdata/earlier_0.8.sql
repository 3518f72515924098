-- A recording as Ingero 0.8 wrote it: no node, ids are numbers. Thread 100 makes
-- calls and its context switches are recorded; thread 200 makes calls, its are not.
create table schema_info (key text primary key, value text not null);
insert into schema_info values ('version', '0.8');
create table sources (id integer primary key, name text not null, description text not null);
insert into sources values (1, 'CUDA', ''), (3, 'HOST', ''), (4, 'DRIVER', ''), (5, 'IO', ''), (7, 'NET', '');
create table ops (source_id integer not null, op_id integer not null, name text not null, description text not null, primary key (source_id, op_id));
insert into ops values (1, 1, 'cudaMalloc', ''), (1, 3, 'cudaLaunchKernel', ''), (1, 5, 'cudaStreamSync', ''), (4, 2, 'cuMemcpy', ''),
  (4, 5, 'cuMemAlloc', ''), (3, 1, 'sched_switch', ''), (3, 7, 'process_fork', ''), (5, 1, 'block_read', ''), (7, 1, 'net_send', '');
create table process_names (pid integer primary key, name text not null, seen_at integer not null default 0);
insert into process_names values (100, 'python3', 0), (200, 'server', 0);
create table events (id integer primary key autoincrement, timestamp integer not null, pid integer not null, tid integer not null,
  source integer not null, op integer not null, duration integer not null, gpu_id integer not null default 0, arg0 integer not null default 0,
  arg1 integer not null default 0, ret_code integer not null default 0, stack_hash integer not null default 0, cgroup_id integer not null default 0);
-- cuMemAlloc is inside cudaMalloc; 2 ms of the sync are off the CPU, of which 1 ms
-- after it; a disk read covers the last interval.
insert into events (id, timestamp, pid, tid, source, op, duration, arg0, arg1, stack_hash) values
  (1, 1000000100, 100, 100, 4, 5, 50000, 4096, 0, 0),
  (2, 1000000000, 100, 100, 1, 1, 100000, 4096, 0, 7),
  (3, 1001000000, 100, 100, 1, 5, 3000000, 0, 0, 0),
  (4, 1005000000, 100, 100, 3, 1, 2000000, 0, 100, 0),
  (5, 1010000000, 100, 100, 5, 1, 980000, 24, 777, 0),
  (6, 1010010000, 100, 100, 3, 1, 1000000, 0, 100, 0),
  (7, 1020000000, 100, 100, 3, 7, 0, 0, 101, 0),
  (8, 1030000000, 200, 200, 1, 3, 6000, 5, 0, 0),
  (9, 1031000000, 200, 200, 1, 3, 9006000, 5, 0, 0),
  (10, 1045000000, 200, 200, 4, 2, 6000, 64, 0, 0),
  (11, 1046000000, 200, 200, 7, 1, 1000, 5, 64, 0);
create table stack_traces (hash integer primary key, ips text not null, frames text not null default '');
insert into stack_traces values (7, '', '[{"s":"cudaMalloc+0x1cb","f":"libcudart.so.12"},{"i":"0x7a","f":"libffi.so.8"},{"s":"step","f":"train.py"}]');
-- Ten launches of process 200, of which two are listed; 50 us of switches are not.
create table event_aggregates (bucket integer not null, source integer not null, op integer not null, pid integer not null default 0,
  count integer not null default 0, stored integer not null default 0, sum_dur integer not null default 0, min_dur integer not null default 0,
  max_dur integer not null default 0, sum_arg0 integer not null default 0, primary key (bucket, source, op, pid));
insert into event_aggregates values (0, 1, 3, 200, 10, 2, 9060000, 5000, 9006000, 50), (0, 3, 1, 100, 4, 4, 3050000, 10, 2000000, 0);
create table system_snapshots (id integer primary key, timestamp integer not null, cpu_pct real not null, mem_pct real not null,
  mem_avail integer not null, swap_mb integer not null, load_avg real not null);
insert into system_snapshots values (1, 1000500000, 12.5, 50, 15000, 0, 0.5);
create table sessions (id integer primary key, started_at integer not null, stopped_at integer not null default 0, cpu_cores integer not null default 0,
  mem_total integer not null default 0, kernel text not null default '', gpu_model text not null default '', ingero_ver text not null default '', flags text not null default '');
insert into sessions values (1, 900000000, 1100000000, 4, 16, '5.15.0', 'a GPU', '7015028', 'stack');
create table causal_chains (id text primary key, detected_at integer not null, severity text not null, summary text not null, root_cause text not null,
  explanation text not null, recommendations text not null default '', cuda_op text not null default '');
insert into causal_chains values
  ('chain-001', 1050000000, 'HIGH', 'cudaLaunchKernel p99=9ms (1500.0x p50) — 34 sched_switch events', '34 sched_switch events', 'It is high.',
   '["Pin training process to dedicated cores with taskset"]', 'cudaLaunchKernel'),
  ('chain-002', 1050000000, 'MEDIUM', 'cudaStreamSync p99=3ms (1.0x p50) — 34 sched_switch events', '34 sched_switch events', 'It is slow.', 'free text', 'cudaStreamSync');
