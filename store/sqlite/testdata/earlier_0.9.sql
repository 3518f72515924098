-- Two recordings of Ingero 0.9 merged into one file. Process 100 is another one on
-- each node: on a it has switches, on b it has none.
create table schema_info (key text primary key, value text not null);
insert into schema_info values ('version', '0.9');
create table ops (source_id integer not null, op_id integer not null, name text not null, description text not null, primary key (source_id, op_id));
insert into ops values (1, 3, 'cudaLaunchKernel', ''), (3, 1, 'sched_switch', '');
create table process_names (pid integer primary key, name text not null);
insert into process_names values (100, 'python3');
create table events (id text primary key, timestamp integer not null, pid integer not null, tid integer not null,
  source integer not null, op integer not null, duration integer not null, node text not null default '', rank integer, local_rank integer, world_size integer);
insert into events values
  ('a:1', 1000000000, 100, 100, 1, 3, 8000000, 'a', 0, 0, 2),
  ('b:1', 1001000000, 100, 100, 1, 3, 8000000, 'b', 1, 0, 2),
  ('a:2', 1007000000, 100, 100, 3, 1, 5000000, 'a', 0, 0, 2);
create table causal_chains (id text primary key, detected_at integer not null, severity text not null, summary text not null, root_cause text not null,
  explanation text not null, recommendations text not null default '', cuda_op text not null default '', node text not null default '');
insert into causal_chains values ('b:tail-high-cudaLaunchKernel', 1010000000, 'HIGH', 'slow', 'switches', '', '', 'cudaLaunchKernel', 'b');
