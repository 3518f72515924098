-- The public SQL of a recording. {source} numbers are those of event.Source;
-- the views of single operations are appended by views.go.

create view sources as
select id, name, doc as description from source_name;

create view ops as
select source as source_id, name as op_id, name, doc as description, id as op_number from op_name;

create view sessions as
select id, node, host, kernel, arch, cpus as cpu_cores, memory as mem_total, version as ingero_ver,
  backend, flags, started_ns as started_at, stopped_ns as stopped_at, calls, stored
from session;

create view cgroups as
select id as cgroup_id, path from cgroup;

create view processes as
select s.node, p.pid, p.parent as parent_pid, p.name, p.command, g.path as cgroup, p.rank, p.local_rank, p.world_size, p.traced,
  o.cgroup_id as kernel_cgroup_id, o.container, o.runtime, o.pod_uid, o.namespace, o.pod, o.pod_container, o.slurm_job, o.slurm_step, o.unit, o.ns_pid
from process p join session s on s.id = p.session left join cgroup g on g.id = p.cgroup left join owner o on o.process = p.id;

-- One row per process id: its latest name.
create view process_names as
select pid, name from (
  select pid, name, max(rank_) from (
    select pid, name, 1000000000 + id as rank_ from process where name <> ''
    union all
    select pid, comm, case when tid = pid then 500000000 else 0 end + id from thread where comm <> ''
  ) group by pid
);

create view threads as
select s.node, t.pid, t.tid, t.comm, t.dispatch
from thread t join session s on s.id = t.session;

create view cpu_stalls as
select ts as timestamp, dur as duration_ns, cpu from stall;

-- Spans in which a thread that wanted memory freed some first.
create view reclaims as
select r.ts as timestamp, r.dur as duration_ns, r.ns as reclaim_ns, s.node, t.pid, t.tid, t.comm,
  case r.kind when 1 then 'direct' when 2 then 'cgroup' when 3 then 'compaction' end as kind, r.parts
from reclaim r left join thread t on t.id = r.thread left join session s on s.id = t.session;

create view scheduling_policies as
select s.node, t.pid, t.tid, case t.policy when 0 then 'SCHED_OTHER' when 1 then 'SCHED_FIFO' when 2 then 'SCHED_RR' when 3 then 'SCHED_BATCH'
  when 5 then 'SCHED_IDLE' when 6 then 'SCHED_DEADLINE' end as policy, t.nice, t.realtime
  from scheduling t join session s on s.id = t.session;

create view memory_limits as
select s.node, l.pid, l.cgroup, l.bytes from memory_limit l join session s on s.id = l.session;

create view system_snapshots as
select ts as timestamp, cpu_pct, mem_pct, mem_avail, swap as swap_mb, load_avg, steal_pct from snapshot;

create view gpu_snapshots as
select ts as timestamp, gpu as gpu_id, coalesce(temp, 0) as temp_c, coalesce(clock, 0) as clock_mhz, coalesce(max_clock, 0) as max_clock_mhz,
  coalesce(util, 0) as util_pct, coalesce(reasons, 0) as throttle_reasons,
  (coalesce(reasons, 0) & 0x60) != 0 as thermal, coalesce(mem, 0) as mem_used_mb, coalesce(mem_total, 0) as mem_total_mb
from gpu_snapshot;

create view stack_frames as
select k.hash as stack_hash, e.depth,
  case f.kind when 1 then 'native' when 2 then 'kernel' when 3 then 'python' end as kind,
  f.symbol, f.file, f.line, f.module, f.addr, f.offset, coalesce(b.build_id, '') as build_id
from stack k join stack_entry e on e.stack = k.id join frame f on f.id = e.frame
left join frame_build b on b.frame = f.id;

create view stack_traces as
select k.hash, k.pid, (select count(*) from stack_entry e where e.stack = k.id) as depth,
  (select group_concat(symbol, ';') from (
    select case f.symbol when '' then f.module || '+' || printf('0x%x', coalesce(f.offset, f.addr, 0)) else f.symbol end as symbol
    from stack_entry e join frame f on f.id = e.frame where e.stack = k.id order by e.depth)) as frames,
  exists (select 1 from stack_cut c where c.stack = k.id) as cut
from stack k;

create view calls as
select s.node || ':' || c.ts as id, c.ts as timestamp, c.dur as duration, c.dur as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, o.source, o.name as op, coalesce(c.gpu, -1) as gpu_id,
  coalesce(a.a0, 0) as arg0, coalesce(a.a1, 0) as arg1, coalesce(a.a2, 0) as arg2, coalesce(a.a3, 0) as arg3,
  coalesce(c.ret, 0) as ret_code, coalesce(k.hash, 0) as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  coalesce(c.weight, 1) as weight, coalesce(c.depth, 0) as depth,
  case when c.op in ({launches}) then
    (select k.name from kernel k where k.session = t.session and k.pid = t.pid and k.func = a.a0) end as kernel
from call c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join op_name o on o.id = c.op
left join args a on a.id = c.args
left join stack k on k.id = c.stack;

create view off_cpu_events as
select s.node || ':' || x.ts || 'o' as id, x.ts as timestamp, x.dur as duration, x.dur as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, 3 as source, 'sched_switch' as op, -1 as gpu_id,
  0 as arg0, 0 as arg1, 0 as arg2, 0 as arg3, 0 as ret_code, coalesce(k.hash, 0) as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  1 as weight, 0 as depth, null as kernel
from interval x
left join thread t on t.id = x.thread
left join session s on s.id = t.session
left join stack k on k.id = x.stack;

-- A fork is its creator's event; arg0 is the thread or process created.
create view life_events as
select s.node || ':' || l.ts || 'p' as id, l.ts as timestamp, coalesce(l.dur, 0) as duration, coalesce(l.dur, 0) as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, 3 as source,
  case l.kind when 1 then 'process_fork' when 2 then 'process_exec' when 3 then 'process_exit' end as op, -1 as gpu_id,
  coalesce(case l.kind when 1 then n.tid end, 0) as arg0, 0 as arg1, 0 as arg2, 0 as arg3,
  0 as ret_code, 0 as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  1 as weight, 0 as depth, null as kernel
from life l
left join thread n on n.id = l.thread
left join thread t on t.id = coalesce(case l.kind when 1 then l.parent end, l.thread)
left join session s on s.id = t.session
where l.kind in (1, 2, 3);

-- Calls and host events. A row of a thinned recording stands for weight calls.
create view events as
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from calls
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from off_cpu_events
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from life_events;

-- Calls of the CUDA runtime, driver, graphs and NCCL.
create view cuda_events as
select id, timestamp, duration_ns, node, rank, pid, tid, comm, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, weight, depth, kernel from calls;

-- Intervals off the CPU: what the thread waited for, who woke it, and who ran on
-- its CPU the longest meanwhile (all of them: culprits).
create view off_cpu as
select s.node || ':' || x.ts || 'o' as id, x.ts as timestamp, x.dur as duration_ns, coalesce(x.runq, 0) as runq_ns,
  s.node, t.pid, t.tid, t.comm, o.name as in_op,
  (select name from class_name where id = x.class) as class,
  case when x.syscall is null then null
    else coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = x.syscall), cast(x.syscall as text)) end as syscall,
  coalesce(x.state, 0) as state, coalesce(x.followed, 0) as followed,
  x.futex, x.holder as holder_tid, x.inode,
  w.pid as waker_pid, w.tid as waker_tid, w.comm as waker_comm,
  b.pid as culprit_pid, b.tid as culprit_tid, b.comm as culprit_comm, u.dur as culprit_ns,
  coalesce(x.idle, 0) as cpu_idle_ns, x.out_cpu, x.in_cpu, coalesce(k.hash, 0) as stack_hash, x.class as class_id
from interval x
left join thread t on t.id = x.thread
left join session s on s.id = t.session
left join op_name o on o.id = x.op
left join thread w on w.id = x.waker
left join culprit u on u.off_cpu = x.ts and u.n = 0
left join thread b on b.id = u.thread
left join stack k on k.id = x.stack;

-- What the host did to threads: intervals off the CPU with the system call they
-- were in, and processes that started or ended. Of processes whose footprint was
-- taken there is a row for each system call instead, so that counting rows counts
-- calls: at the second in which it was counted, with the worst duration on one of
-- a second's rows and the mean of the rest on the others (exact sums: syscalls).
create view host_events as
select id, timestamp, duration_ns, node, pid, tid, comm, 'sched_switch' as op, class,
  case when exists (select 1 from process_cpu p where p.pid = o.pid) then null else syscall end as syscall,
  in_op, runq_ns, waker_comm, culprit_comm from off_cpu o
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, null, null, null, 0, null, null from life_events
union all
select y.node || ':' || y.timestamp || 'y' || y.pid || '.' || y.number || '.' || n.key as id, y.timestamp,
  case when y.max_ns = 0 then y.total_ns / y.calls when n.key = 0 then y.max_ns else (y.total_ns - y.max_ns) / (y.calls - 1) end as duration_ns,
  y.node, y.pid, null as tid, y.comm, 'syscall' as op, null, y.syscall, null, 0, null, null
from syscalls y, json_each('[0' || replace(hex(zeroblob(y.calls - 1)), '00', ',0') || ']') n;

-- System calls of processes whose footprint was taken, by about a second: how many
-- returned, how long they took, how long of that they were on a CPU. max_ns is 0
-- where none was longer than all before.
create view syscalls as
select c.ts as timestamp, s.node, c.pid, coalesce(p.comm, '') as comm,
  coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = c.nr), 'syscall_' || c.nr) as syscall,
  c.calls, coalesce(c.errors, 0) as errors, c.sum as total_ns, c.cpu as cpu_ns, coalesce(c.max, 0) as max_ns, c.nr as number
from syscall_second c join session s on s.id = c.session
left join process_cpu p on p.session = c.session and p.pid = c.pid;

-- How often system calls failed with what.
create view syscall_errors as
select s.node, e.pid, coalesce(p.comm, '') as comm,
  coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = e.nr), 'syscall_' || e.nr) as syscall,
  e.name as error, e.count, e.errno
from syscall_error e join session s on s.id = e.session
left join process_cpu p on p.session = e.session and p.pid = e.pid;

-- Files, directories, devices and pipes that processes opened, read or wrote while
-- their footprint was taken.
create view files as
select s.node, t.pid, coalesce(p.comm, '') as comm,
  case t.kind when 1 then 'file' when 2 then 'directory' when 3 then 'device' when 4 then 'pipe' end as kind, t.path,
  t.opens, t.reads, t.read_bytes, t.writes, t.write_bytes, t.errors, t.first as timestamp, t.device, t.inode
from touched t join session s on s.id = t.session
left join process_cpu p on p.session = t.session and p.pid = t.pid
where t.kind <> 5;

create view sockets as
select s.node, t.pid, coalesce(p.comm, '') as comm, t.family, t.protocol,
  case when t.how & 1 then 'connect' when t.how & 2 then 'accept' when t.how & 4 then 'listen' end as role,
  t.remote, t.remote_port, t.local_port, t.peer as peer_pid, t.opens, t.read_bytes, t.write_bytes, t.errors, t.first as timestamp, t.inode
from touched t join session s on s.id = t.session
left join process_cpu p on p.session = t.session and p.pid = t.pid
where t.kind = 5;

-- Paths that could not be opened or executed, as the process gave them.
create view missing_files as
select s.node, m.pid, coalesce(p.comm, '') as comm, m.path, m.name as error, m.count
from path_miss m join session s on s.id = m.session
left join process_cpu p on p.session = m.session and p.pid = m.pid;

create view programs as
select g.ts as timestamp, s.node, g.pid, p.parent as parent_pid, g.path, g.args
from program g join session s on s.id = g.session
left join process_cpu p on p.session = g.session and p.pid = g.pid;

create view libraries as
select s.node, l.pid, coalesce(p.comm, '') as comm, l.path
from mapped_library l join session s on s.id = l.session
left join process_cpu p on p.session = l.session and p.pid = l.pid;

-- The processes whose footprint was taken: how long they ran, in system calls
-- (kernel_ns) and outside of them.
create view footprints as
select s.node, p.pid, p.parent as parent_pid, p.comm, p.first as timestamp, p.ended, p.cpu as cpu_ns, p.cpu - p.kernel as user_ns, p.kernel as kernel_ns
from process_cpu p join session s on s.id = p.session;

create view net_events as
select o.id, o.timestamp, o.duration_ns, o.node, o.pid, o.tid, o.comm, o.syscall as op, 0 as bytes, o.waker_comm as peer, o.in_op,
  case k.kind when 1 then 'tcp' when 2 then 'unix' when 3 then 'other' end as protocol, k.lport as local_port, k.rport as remote_port,
  k.remote, k.peer as peer_pid
from off_cpu o left join socket k on k.ts = o.timestamp where o.class_id = 5;

create view io_events as
select id, timestamp, duration_ns, node, pid, tid, comm, syscall as op, 0 as bytes, '' as device, inode, in_op
from off_cpu where class_id = 3;

create view culprits as
select u.off_cpu as timestamp, s.node, t.pid, t.tid, t.comm, u.dur as duration_ns
from culprit u join thread t on t.id = u.thread join session s on s.id = t.session;

create view losses as
select u.second * 1000000000 as timestamp, s.node, u.session as session_id, n.name as kind, u.count, n.unit, n.approximate, n.doc as description
from loss u join session s on s.id = u.session left join loss_name n on n.id = u.kind;

-- What a process has allocated by its traced calls, about once a second; counts
-- and times are since its row before.
create view memory as
select m.ts as timestamp, s.node, t.pid, (select n.name from process n where n.pid = t.pid and n.session = t.session) as comm,
  case m.space when 0 then 'device' when 1 then 'pinned' end as space,
  m.live_bytes, m.live_count, m.peak_bytes, coalesce(m.allocs, 0) as allocs, coalesce(m.frees, 0) as frees,
  coalesce(m.failed, 0) as failed, coalesce(m.bytes, 0) as bytes, coalesce(m.alloc_ns, 0) as alloc_ns,
  coalesce(m.free_ns, 0) as free_ns, coalesce(m.unknown_frees, 0) as unknown_frees, coalesce(m.untracked, 0) as untracked
from memory_second m
left join thread t on t.id = m.thread
left join session s on s.id = t.session;

-- The places in a process's code whose allocations hold most of it; a row each
-- time that changed.
create view memory_sites as
select m.ts as timestamp, s.node, t.pid, (select n.name from process n where n.pid = t.pid and n.session = t.session) as comm,
  case m.space when 0 then 'device' when 1 then 'pinned' end as space, o.name as op,
  coalesce(k.hash, 0) as stack_hash, m.live_bytes, m.live_count, coalesce(m.oldest, 0) as oldest
from memory_site m
left join thread t on t.id = m.thread
left join session s on s.id = t.session
left join op_name o on o.id = m.op
left join stack k on k.id = m.stack;

-- What kernels are called that processes launched; func is what launches name.
create view kernels as
select s.node, k.pid, (select p.name from process p where p.pid = k.pid and p.session = k.session) as comm, k.func, k.name as kernel, k.symbol,
  case k.source when 1 then 'registered' when 2 then 'loaded' when 3 then 'symbol' end as source
from kernel k join session s on s.id = k.session;

-- How often each kernel was launched and how long the calls took. A launch of the
-- runtime that calls the driver's is a row of each.
create view kernel_launches as
select s.node, t.pid, (select p.name from process p where p.pid = t.pid and p.session = t.session) as comm,
  coalesce(k.name, printf('0x%x', coalesce(a.a0, 0))) as kernel, o.name as op, sum(coalesce(c.weight, 1)) as launches,
  sum(c.dur * coalesce(c.weight, 1)) as total_ns, max(c.dur) as max_ns, min(c.ts) as first, coalesce(a.a0, 0) as func
from call c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join op_name o on o.id = c.op
left join args a on a.id = c.args
left join kernel k on k.session = t.session and k.pid = t.pid and k.func = a.a0
where c.op in ({launches})
group by t.session, t.pid, c.op, a.a0;

create view throttles as
select h.ts as timestamp, g.path as cgroup, h.periods, h.ns as throttled_ns
from throttle h left join cgroup g on g.id = h.cgroup;

-- Exact statistics per second, thread and operation, whatever was thinned.
create view op_seconds as
select (r.id >> 20) * 1000000000 as timestamp, s.node, t.pid, t.tid, t.comm, o.source, o.name as op, r.calls,
  coalesce(r.errors, 0) as errors, r.sum as sum_ns, r.sum / r.calls as avg_ns, r.max as max_ns, coalesce(r.bytes, 0) as bytes
from call_second r
left join thread t on t.id = r.thread
left join session s on s.id = t.session
left join op_name o on o.id = r.op;
