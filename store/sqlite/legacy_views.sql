-- The public views of a recording by an earlier Ingero, as far as it has data for
-- them. They are temporary, of the connection that asks; earlier_views.go gives
-- them the names and columns of the views of today, which hide tables of the same
-- name. Those stay reachable as main.events and so on.

create temp view old_sources as select id, name, description from earlier_sources;

create temp view old_ops as
select source as source_id, name as op_id, name, description, source * 256 + op as op_number from earlier_op;

create temp view old_sessions as
select id, node, kernel, cpu_cores, mem_total * 1048576 as mem_total, ingero_ver, flags, started_at, stopped_at,
  gpu_model, gpu_driver, cpu_model, os_release, cuda_ver, python_ver
from earlier_sessions;

create temp view old_cgroups as select cgroup_id, cgroup_path as path from earlier_cgroup_metadata;

-- One row per process id, as today: that of the first node, if several have it.
create temp view old_process_names as
select pid, name from (select pid, name, min(node) from earlier_process_names group by pid);

create temp view old_threads as
select node, pid, tid, comm, max(source in (1, 4, 8, 9)) as dispatch from earlier_event group by node, pid, tid;

create temp view old_processes as
select node, pid, coalesce((select n.name from earlier_process_names n where n.pid = e.pid and n.node in (e.node, '')), '') as name,
  max(rank) as rank, max(source in (1, 4, 8, 9)) as traced
from earlier_event e group by node, pid;

create temp view old_system_snapshots as
select timestamp, cpu_pct, mem_pct, mem_avail, swap_mb, load_avg from earlier_system_snapshots;

create temp view old_causal_chains as select * from earlier_causal_chains;

create temp view old_stack_frames as
select k.hash as stack_hash, f.key as depth, case when f.value ->> 'f' like '%.py' then 'python' else 'native' end as kind,
  case when instr(f.value ->> 's', '+0x') > 1 then substr(f.value ->> 's', 1, instr(f.value ->> 's', '+0x') - 1)
    else coalesce(f.value ->> 's', '') end as symbol,
  case when f.value ->> 'f' like '%.py' then f.value ->> 'f' else '' end as file, 0 as line, coalesce(f.value ->> 'f', '') as module
from earlier_stack_traces k, json_each(case when json_valid(k.frames) then k.frames else '[]' end) f;

create temp view old_stack_traces as
select k.hash, json_array_length(case when json_valid(k.frames) then k.frames else '[]' end) as depth,
  (select group_concat(coalesce(f.value ->> 's', (f.value ->> 'f') || '+' || (f.value ->> 'i')), ';')
    from json_each(case when json_valid(k.frames) then k.frames else '[]' end) f) as frames
from earlier_stack_traces k;

-- The second argument of a fork is the task created; with us it is the first.
create temp view old_events as
select id, timestamp, duration, duration as duration_ns, node, rank, pid, tid, source, op, gpu_id,
  case op when 'process_fork' then arg1 else arg0 end as arg0, arg1, 0 as arg2, 0 as arg3, ret_code, stack_hash, cgroup_id, 1 as weight, 1 as stored
from earlier_event;

create temp view old_calls as
select id, timestamp, duration, duration as duration_ns, node, rank, pid, tid, comm, source, op, gpu_id, arg0, arg1, 0 as arg2, 0 as arg3,
  ret_code, stack_hash, cgroup_id, 1 as weight, 1 as stored
from earlier_event where source in (1, 4, 8, 9);

create temp view old_cuda_events as select * from old_calls;

create temp view old_off_cpu as
select id, timestamp, duration, duration as duration_ns, node, rank, pid, tid, comm, source, op, gpu_id, 0 as arg0, 0 as arg1, 0 as arg2,
  0 as arg3, ret_code, stack_hash, cgroup_id, 1 as weight, 1 as stored
from earlier_event where source = 3 and op = 'sched_switch';

create temp view old_off_cpu_events as select * from old_off_cpu;

create temp view old_life_events as
select id, timestamp, duration, duration as duration_ns, node, rank, pid, tid, comm, source, op, gpu_id,
  case op when 'process_fork' then arg1 else arg0 end as arg0, 0 as arg1, 0 as arg2, 0 as arg3, ret_code, stack_hash, cgroup_id, 1 as weight, 1 as stored
from earlier_event where source = 3 and op in ('process_fork', 'process_exec', 'process_exit');

create temp view old_host_events as
select id, timestamp, duration as duration_ns, node, pid, tid, comm, op from earlier_event where source = 3;

create temp view old_net_events as
select id, timestamp, duration as duration_ns, node, pid, tid, comm, op from earlier_event where source in (6, 7);

-- The first argument of a block request is its length in sectors of 512 bytes.
create temp view old_io_events as
select id, timestamp, duration as duration_ns, node, pid, tid, comm, op, arg0 * 512 as bytes from earlier_event where source = 5;

create temp view old_op_seconds as
select timestamp / 1000000000 * 1000000000 as timestamp, node, pid, tid, comm, source, op, count(*) as calls, sum(ret_code <> 0) as errors,
  sum(duration) as sum_ns, sum(duration) / count(*) as avg_ns, max(duration) as max_ns
from old_calls group by timestamp / 1000000000, node, pid, tid, source, op;

-- The time that a call shares with intervals of its own thread off the CPU. Whether
-- the thread waited or was preempted in them is not known.
create temp view old_ledger as
select id, timestamp, 'call' as span, node, pid, tid, comm, op, duration_ns, max(duration_ns - off, 0) as on_cpu_ns, off as other_ns
from (
  select c.*, (
    select sum(min(x.timestamp, c.timestamp + c.duration) - max(x.timestamp - x.duration, c.timestamp))
    from earlier_events x
    where x.source = 3 and x.op = 1 and x.node = c.node and x.pid = c.pid and x.tid = c.tid and x.timestamp > c.timestamp
      and x.timestamp - x.duration < c.timestamp + c.duration
      and x.timestamp < c.timestamp + c.duration + (select max(duration) from earlier_events where source = 3 and op = 1)
  ) as off from old_calls c
) where off > 0;
