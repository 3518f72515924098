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
select s.node, p.pid, p.parent as parent_pid, p.name, p.command, g.path as cgroup, p.rank, p.local_rank, p.world_size, p.traced, p.framework,
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

{kinds}

-- Spans in which a thread that wanted memory freed some first.
create view reclaims as
select r.ts as timestamp, r.dur as duration_ns, r.ns as reclaim_ns, s.node, t.pid, t.tid, t.comm,
  case r.kind when 1 then 'direct' when 2 then 'cgroup' when 3 then 'compaction' end as kind, r.parts
from reclaim r left join thread t on t.id = r.thread left join session s on s.id = t.session;

create view scheduling_policies as
select s.node, t.pid, t.tid, case t.policy when 0 then 'SCHED_OTHER' when 1 then 'SCHED_FIFO' when 2 then 'SCHED_RR' when 3 then 'SCHED_BATCH'
  when 5 then 'SCHED_IDLE' when 6 then 'SCHED_DEADLINE' end as policy, t.nice, t.realtime, t.cpus as allowed_cpus,
  t.before_cpus as allowed_before, t.changed as affinity_changed
  from scheduling t join session s on s.id = t.session;

create view memory_limits as
select s.node, l.pid, l.cgroup, l.bytes from memory_limit l join session s on s.id = l.session;

-- GPU columns are of the last reading of each GPU within 3 s: how many there are, their
-- mean utilisation, what is in use of their memory, the hottest, whether one is slowed
-- down by heat, what they draw, and what is wrong with their memory since the driver was
-- loaded; null if none tells. gpus_json has them one by one, as gpu_snapshots has.
create view system_snapshots as
select x.ts as timestamp, x.cpu_pct, x.mem_pct, x.mem_avail, x.swap as swap_mb, x.load_avg, x.steal_pct,
  x.psi_cpu_pct, x.psi_memory_pct, x.psi_memory_full_pct, x.psi_io_pct, x.psi_io_full_pct,
  count(g.gpu) as gpus, avg(g.util) as gpu_util_pct, sum(g.mem) as gpu_mem_used_mb, max(g.temp) as gpu_max_temp_c,
  max((g.reasons & 0x60) != 0) as gpu_thermal, sum(g.power) / 1000.0 as gpu_power_w,
  sum(g.ecc_corrected) as gpu_ecc_corrected, sum(g.ecc_uncorrected) as gpu_ecc_uncorrected,
  case when count(g.gpu) > 0 then json_group_array(json_object('gpu_id', g.gpu, 'util_pct', g.util, 'mem_used_mb', g.mem,
    'mem_total_mb', g.mem_total, 'temp_c', g.temp, 'clock_mhz', g.clock, 'power_w', g.power / 1000.0)) end as gpus_json,
  coalesce(x.swapped_in, 0) as swapped_in_bytes, coalesce(x.swapped_out, 0) as swapped_out_bytes, s.node
from snapshot x left join session s on s.id = coalesce(x.session, (select max(id) from session))
left join gpu_snapshot g on g.session is x.session and g.ts between x.ts - 3000000000 and x.ts
  and not exists (select 1 from gpu_snapshot later where later.session is g.session and later.gpu = g.gpu and later.ts > g.ts and later.ts <= x.ts)
group by x.ts;

-- How busy each CPU was in each second; null for one that was offline. A byte of cpus is the
-- percentage plus 1.
create view cpu_loads as
with recursive n(cpu) as (
  select 0 union all select cpu + 1 from n where cpu + 1 < (select max(length(cpus)) from snapshot)
)
select x.ts as timestamp, n.cpu, nullif(unicode(cast(substr(x.cpus, n.cpu + 1, 1) as text)) - 1, 126) as busy_pct,
  100 - nullif(unicode(cast(substr(x.cpus, n.cpu + 1, 1) as text)) - 1, 126) as idle_pct, s.node
from snapshot x join n on n.cpu < length(x.cpus)
left join session s on s.id = coalesce(x.session, (select max(id) from session));

-- On which CPUs threads ran again after the waits that were recorded one by one.
create view thread_cpus as
select s.node, t.pid, t.tid, t.comm, coalesce(x.in_cpu, 0) as cpu, count(*) as waits_recorded,
  (select q.cpus from scheduling q where q.session = t.session and q.pid = t.pid and q.tid = t.tid) as allowed_cpus
from interval x join thread t on t.id = x.thread left join session s on s.id = t.session
group by t.session, t.id, coalesce(x.in_cpu, 0);

create view gpu_snapshots as
select ts as timestamp, gpu as gpu_id, temp as temp_c, clock as clock_mhz, max_clock as max_clock_mhz, mem_clock as mem_clock_mhz,
  util as util_pct, mem_util as mem_util_pct, reasons as throttle_reasons, (reasons & 0x60) != 0 as thermal,
  mem as mem_used_mb, mem_total as mem_total_mb, power / 1000.0 as power_w, power_limit / 1000.0 as power_limit_w,
  ecc_corrected, ecc_uncorrected, ecc_corrected_ever, ecc_uncorrected_ever, mig, s.node
from gpu_snapshot g left join session s on s.id = coalesce(g.session, (select max(id) from session));

create view gpus as
select s.node, d.session, d.gpu as gpu_id, d.name, d.uuid, d.bus as pci_bus_id, d.driver as driver_version,
  d.node as memory_node
from gpu_device d join session s on s.id = d.session;

-- What a process had of a GPU's memory from then on; a row where it changed, and each minute.
create view gpu_process_memory as
select p.ts as timestamp, p.gpu as gpu_id, p.pid, (select n.name from process_names n where n.pid = p.pid) as process,
  p.bytes, p.bytes / 1048576 as mem_used_mb, s.node
from gpu_process p join session s on s.id = p.session;

create view gpu_xids as
select x.ts as timestamp, x.gpu as gpu_id, x.xid, x.name as description, s.node
from gpu_xid x join session s on s.id = x.session;

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

-- A row for each call: one that stands for weight calls is repeated, the first time as
-- itself (stored is 1), then for each of the others, which share the time that they took
-- together. So count, sum and avg are exact; max and min, too, as the longest and the shortest
-- call of each second are stored.
create view calls as
select s.node || ':' || c.ts || {copy} as id, c.ts as timestamp, {ns} as duration, {ns} as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, o.source, o.name as op, coalesce(c.gpu, -1) as gpu_id,
  {sized0} as arg0, {sized1} as arg1, {sized2} as arg2, {sized3} as arg3,
  coalesce(c.ret, 0) as ret_code, coalesce(k.hash, 0) as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  1 as weight, coalesce(c.depth, 0) as depth,
  case when c.op in ({launches}) then
    (select k.name from kernel k where k.session = t.session and k.pid = t.pid and k.func = a.a0) end as kernel,
  n.n = 0 as stored
from call c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join op_name o on o.id = c.op
left join args a on a.id = c.args
left join stack k on k.id = c.stack
{repeated};

-- What the views of single operations have in common; op is its number. size is null of
-- calls that have a row of their own: of these it is an argument.
create view op_calls as
select s.node || ':' || c.ts || {copy} as id, c.ts as timestamp, {ns} as duration_ns, s.node, t.pid, t.tid, t.comm, c.op,
  coalesce(a.a0, 0) as a0, coalesce(a.a1, 0) as a1, coalesce(a.a2, 0) as a2, coalesce(a.a3, 0) as a3, {size} as size,
  coalesce(c.gpu, -1) as gpu_id, coalesce(c.ret, 0) as ret_code, coalesce(k.hash, 0) as stack_hash, 1 as weight,
  coalesce(c.depth, 0) as depth, {kernel} as kernel, n.n = 0 as stored
from call c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join args a on a.id = c.args
left join stack k on k.id = c.stack
{repeated};

create view off_cpu_events as
select s.node || ':' || x.ts || 'o' as id, x.ts as timestamp, x.dur as duration, x.dur as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, 3 as source, 'sched_switch' as op, -1 as gpu_id,
  0 as arg0, 0 as arg1, 0 as arg2, 0 as arg3, 0 as ret_code, coalesce(k.hash, 0) as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  1 as weight, 0 as depth, null as kernel, 1 as stored
from interval x
left join thread t on t.id = x.thread
left join session s on s.id = t.session
left join stack k on k.id = x.stack;

-- A fork is its creator's event; arg0 is the thread or process created. An oom_kill is
-- the event of who was ended; arg0 is the process that had asked for memory.
create view life_events as
select s.node || ':' || l.ts || 'p' as id, l.ts as timestamp, coalesce(l.dur, 0) as duration, coalesce(l.dur, 0) as duration_ns, s.node,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  t.pid, t.tid, t.comm, 3 as source,
  case l.kind when 1 then 'process_fork' when 2 then 'process_exec' when 3 then 'process_exit' when 6 then 'oom_kill' end as op, -1 as gpu_id,
  coalesce(case l.kind when 1 then n.tid when 6 then (select g.pid from thread g where g.id = l.parent) end, 0) as arg0, 0 as arg1, 0 as arg2, 0 as arg3,
  0 as ret_code, 0 as stack_hash,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id,
  1 as weight, 0 as depth, null as kernel, 1 as stored
from life l
left join thread n on n.id = l.thread
left join thread t on t.id = coalesce(case l.kind when 1 then l.parent end, l.thread)
left join session s on s.id = t.session
where l.kind in (1, 2, 3, 6);

-- Requests to block devices of traced processes, and slow ones of others, as far as the
-- rate limit allowed (all of them: io_seconds).
-- queue_ns is the part of the duration before the device had the request, by_tid the
-- kernel's thread that made it for the process.
create view io_requests as
select s.node || ':' || r.ts || 'r' as id, r.ts as timestamp, r.dur as duration_ns, s.node, t.pid, t.tid, t.comm, o.name as op,
  (r.dev >> 20) || ':' || (r.dev & 1048575) as device_number, coalesce(d.name, (r.dev >> 20) || ':' || (r.dev & 1048575)) as device,
  coalesce(r.sector, 0) as sector, coalesce(r.bytes, 0) as bytes, coalesce(r.queue, 0) as queue_ns, r.dur - coalesce(r.queue, 0) as device_ns,
  rtrim((case when r.flags & 1 then 'sync,' else '' end) || (case when r.flags & 2 then 'meta,' else '' end) || (case when r.flags & 4 then 'fua,' else '' end)
    || (case when r.flags & 8 then 'preflush,' else '' end) || (case when r.flags & 16 then 'ahead,' else '' end), ',') as flags,
  coalesce(r.inode, 0) as inode, (select f.path from file f where f.session = t.session and f.pid = t.pid and f.inode = r.inode) as path,
  coalesce(r.by, 0) as by_tid, coalesce(r.error, 0) as error, o.source as source, r.dev as device_id,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id
from request r
left join thread t on t.id = r.thread
left join session s on s.id = t.session
left join op_name o on o.id = r.op
left join device d on d.session = t.session and d.dev = r.dev;

-- What each process did at each device in each second: exact, whatever was thinned.
-- Process 0 stands for the ones there was no room for.
create view io_seconds as
select r.second as timestamp, s.node, t.pid, t.comm, o.name as op, coalesce(d.name, (r.dev >> 20) || ':' || (r.dev & 1048575)) as device,
  r.requests, coalesce(r.errors, 0) as errors, coalesce(r.bytes, 0) as bytes, coalesce(r.queue, 0) as queue_ns, coalesce(r.device, 0) as device_ns,
  coalesce(r.max, 0) as max_ns
from request_second r
left join thread t on t.id = r.thread
left join session s on s.id = t.session
left join op_name o on o.id = r.op
left join device d on d.session = t.session and d.dev = r.dev;

create view devices as
select s.node, (d.dev >> 20) || ':' || (d.dev & 1048575) as device_number, d.name as device from device d join session s on s.id = d.session;

create view waited_files as
select s.node, f.pid, f.inode, f.path from file f join session s on s.id = f.session;

-- What went wrong on TCP connections; retransmits is the connection's count so far.
create view tcp_events as
select coalesce(s.node, '') || ':' || c.ts || 't' as id, c.ts as timestamp, coalesce(c.dur, 0) as duration_ns, s.node, coalesce(t.pid, 0) as pid, coalesce(t.tid, 0) as tid,
  coalesce(t.comm, '') as comm, o.name as op, c.local, coalesce(c.lport, 0) as local_port, c.remote, coalesce(c.rport, 0) as remote_port,
  case c.state when 1 then 'established' when 2 then 'syn_sent' when 3 then 'syn_recv' when 4 then 'fin_wait1' when 5 then 'fin_wait2' when 6 then 'time_wait'
    when 7 then 'close' when 8 then 'close_wait' when 9 then 'last_ack' when 10 then 'listen' when 11 then 'closing' when 12 then 'new_syn_recv' else '' end as state,
  coalesce(c.error, 0) as error, coalesce(c.bytes, 0) as bytes, coalesce(c.retrans, 0) as retransmits, coalesce(c.rtt, 0) as rtt_us, coalesce(c.min_rtt, 0) as min_rtt_us,
  o.source as source,
  (select p.rank from process p where p.pid = t.pid and p.session = t.session) as rank,
  (select p.cgroup from process p where p.pid = t.pid and p.session = t.session) as cgroup_id
from tcp c
left join thread t on t.id = c.thread
left join session s on s.id = coalesce(t.session, c.session, (select max(id) from session))
left join op_name o on o.id = c.op;

-- How traced processes used the host's memory, about once a second; faults are since
-- the row before.
create view host_memory_seconds as
select m.ts as timestamp, s.node, t.pid, (select n.name from process n where n.pid = t.pid and n.session = t.session) as comm,
  coalesce(m.minor, 0) as minor_faults, coalesce(m.major, 0) as major_faults, coalesce(m.rss, 0) as rss_bytes, coalesce(m.swap, 0) as swap_bytes,
  m.private as private_bytes
from host_memory m left join thread t on t.id = m.thread left join session s on s.id = t.session;

-- The memory that each process was given, about once a second, where that was counted
-- (trace --pages). Process 0 is that of idle CPUs.
create view page_allocations as
select coalesce(s.node, '') || ':' || p.ts || 'm' as id, p.ts as timestamp, s.node, coalesce(t.pid, 0) as pid, coalesce(t.comm, '') as comm,
  p.allocs as allocations, p.pages, p.bytes, coalesce(p.nowait, 0) as nowait_bytes, coalesce(p.failed, 0) as failed,
  (select q.rank from process q where q.pid = t.pid and q.session = t.session) as rank,
  (select q.cgroup from process q where q.pid = t.pid and q.session = t.session) as cgroup_id
from page_second p
left join thread t on t.id = p.thread
left join session s on s.id = p.session;

-- Calls and host events. A row that is stored = 0 is a call that was counted only.
create view events as
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel, stored from calls
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel, stored from off_cpu_events
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel, stored from life_events
union all
select id, timestamp, duration_ns, duration_ns, node, rank, pid, tid, source, op, -1, bytes, sector, device_id, queue_ns,
  error, 0, cgroup_id, 1, 0, null, 1 from io_requests
union all
select id, timestamp, duration_ns, duration_ns, node, rank, pid, tid, source, op, -1, remote_port, retransmits, rtt_us, error,
  error, 0, cgroup_id, 1, 0, null, 1 from tcp_events
union all
select id, timestamp, 0, 0, node, rank, pid, pid, 3, 'mm_page_alloc', -1, bytes, allocations, pages, failed,
  0, 0, cgroup_id, allocations, 0, null, 1 from page_allocations;

-- Calls of the CUDA runtime, driver, graphs and NCCL.
create view cuda_events as
select id, timestamp, duration_ns, node, rank, pid, tid, comm, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, weight, depth, kernel, stored from calls;

-- Calls with the labels that held when they began: a row for each call and label.
create view labelled_calls as
select l.key, l.value, l.id as label_id, l.timestamp as label_start, l.source as label_source, c.id, c.timestamp,
  c.duration_ns, c.node, c.rank, c.pid, c.tid, c.comm, c.source, c.op, c.gpu_id, c.arg0, c.arg1, c.arg2, c.arg3,
  c.ret_code, c.stack_hash, c.weight, c.depth, c.kernel, c.stored
from labels l cross join calls c on c.timestamp >= l.timestamp and c.timestamp < l.ended
  and c.node = l.node and c.pid = l.pid and (l.tid is null or l.tid = c.tid);

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
  case when exists (select 1 from process_cpu p join session s on s.id = p.session where p.pid = o.pid and s.node is o.node) then null else syscall end as syscall,
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

-- Waits of threads for sockets, what went wrong on TCP connections, and the sockets of
-- processes whose footprint was taken: one row each, with what went through it in all.
create view net_events as
select o.id, o.timestamp, o.duration_ns, o.node, o.pid, o.tid, o.comm, o.syscall as op, 0 as bytes, o.waker_comm as peer, o.in_op,
  case k.kind when 1 then 'tcp' when 2 then 'unix' when 3 then 'other' end as protocol, k.lport as local_port, k.rport as remote_port,
  k.remote, k.peer as peer_pid, null as local, null as state, 0 as error, null as retransmits, null as rtt_us, null as min_rtt_us
from off_cpu o left join socket k on k.ts = o.timestamp where o.class_id = 5
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, bytes, null, null, 'tcp', local_port, remote_port,
  remote, null, local, state, error, retransmits, rtt_us, min_rtt_us from tcp_events
union all
select node || ':' || timestamp || 's' || inode, timestamp, 0, node, pid, pid, comm, coalesce(role, 'socket'), read_bytes + write_bytes, null, null,
  coalesce(protocol, family), local_port, remote_port, remote, peer_pid, null, null, 0, null, null, null from sockets;

-- Waits of threads for files and devices, the requests that devices got, and the files
-- of processes whose footprint was taken: one row each, with all that was read or written.
create view io_events as
select id, timestamp, duration_ns, node, pid, tid, comm, syscall as op, 0 as bytes, '' as device, inode, in_op,
  (select f.path from file f join session s on s.id = f.session where s.node = o.node and f.pid = o.pid and f.inode = o.inode) as path,
  null as sector, null as queue_ns, null as device_ns, null as flags, 0 as error
from off_cpu o where class_id = 3
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, bytes, device, inode, null,
  path, sector, queue_ns, device_ns, flags, error from io_requests
union all
select node || ':' || timestamp || 'f' || device || '.' || inode, timestamp, 0, node, pid, pid, comm,
  case when write_bytes > 0 and read_bytes > 0 then 'read+write' when write_bytes > 0 then 'write' when read_bytes > 0 then 'read' else 'open' end,
  read_bytes + write_bytes, '', inode, null, path, null, null, null, null, 0 from files;

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
  sum(c.dur + coalesce({rest}, 0)) as total_ns, max(c.dur) as max_ns, min(c.ts) as first, coalesce(a.a0, 0) as func
from call c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join op_name o on o.id = c.op
left join args a on a.id = c.args
left join kernel k on k.session = t.session and k.pid = t.pid and k.func = a.a0
where c.op in ({launches})
group by t.session, t.pid, c.op, a.a0;

-- Calls that took a second or more, each as it was when it was looked at last:
-- what its thread did, what it waited for and where it was. duration_ns is until
-- then, or until the end.
create view long_calls as
select s.node || ':' || f.start as id, f.start as timestamp, max(coalesce(f.end_ns, f.seen) - f.start, 0) as duration_ns, s.node,
  t.pid, t.tid, t.comm, o.source, o.name as op, n.name as inner_op, coalesce(f.gpu, -1) as gpu_id,
  coalesce(a.a0, 0) as arg0, coalesce(a.a1, 0) as arg1, coalesce(a.a2, 0) as arg2, coalesce(a.a3, 0) as arg3,
  case coalesce(f.outcome, 0) when 0 then 'in_flight' when 1 then 'returned' when 2 then 'died' when 3 then 'left' end as outcome,
  f.seen, case f.doing when 1 then 'running' when 2 then 'runnable' when 3 then 'blocked' end as doing, f.since,
  (select name from class_name where id = f.class) as waits_for,
  f.futex, h.pid as holder_pid, h.tid as holder_tid, h.comm as holder_comm,
  case when f.syscall is null then null
    else coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = f.syscall), cast(f.syscall as text)) end as syscall,
  f.file, f.inode, coalesce(f.on_cpu, 0) as on_cpu_ns,
  coalesce(f.runq, 0) as runq_ns, coalesce(f.throttled, 0) as throttled_ns, coalesce(f.futex_ns, 0) as futex_ns, coalesce(f.block_io, 0) as block_io_ns, coalesce(f.fault, 0) as fault_ns, coalesce(f.network, 0) as network_ns, coalesce(f.pipe, 0) as pipe_ns, coalesce(f.poll, 0) as poll_ns, coalesce(f.sleep, 0) as sleep_ns, coalesce(f.ioctl, 0) as ioctl_ns, coalesce(f.other, 0) as other_ns,
  coalesce(k.hash, 0) as stack_hash, coalesce(q.hash, 0) as kernel_stack_hash
from in_flight f
left join thread t on t.id = f.thread
left join session s on s.id = t.session
left join op_name o on o.id = f.op
left join op_name n on n.id = f.inner
left join args a on a.id = f.args
left join thread h on h.id = f.holder
left join stack k on k.id = f.stack
left join stack q on q.id = f.kernel
where f.op <> 0;

-- Of these, those that have not returned: in flight when they were looked at last,
-- or left by their thread's end. A thread that ended in a younger call is here too,
-- without what it did; so is the call inside one.
create view calls_in_flight as
select id, timestamp, duration_ns, node, pid, tid, comm, source, op, inner_op, gpu_id, arg0, arg1, arg2, arg3, outcome, seen, doing, since,
  waits_for, futex, holder_pid, holder_tid, holder_comm, syscall, file, inode, on_cpu_ns, stack_hash, kernel_stack_hash
from long_calls where outcome <> 'returned'
union all
select s.node || ':' || (l.ts - coalesce(l.dur, 0)), l.ts - coalesce(l.dur, 0), coalesce(l.dur, 0), s.node, t.pid, t.tid, t.comm, o.source, o.name, null, -1,
  0, 0, 0, 0, 'died', l.ts, null, null, null, null, null, null, null, null, null, null, 0, 0, 0
from life l left join thread t on t.id = l.thread left join session s on s.id = t.session left join op_name o on o.id = l.op
where l.kind = 5 and not exists (select 1 from in_flight f where f.session = t.session and f.tid = t.tid and f.end_ns between l.ts - 1000 and l.ts + 1000);

-- What threads did that held what a call in flight or a silent thread waited for, or that had the other end of its
-- pipe, the last time they were looked at; timestamp is when that call, or silence, began. stuck is 1 if no thread of
-- its process could end its wait.
create view lock_holders as
select f.start as timestamp, s.node, t.pid, t.tid, t.comm, f.seen,
  case f.doing when 1 then 'running' when 2 then 'runnable' when 3 then 'blocked' end as doing, f.since,
  n.name as in_op, (select name from class_name where id = f.class) as waits_for, h.tid as holder_tid, h.comm as holder_comm,
  case when f.syscall is null then null
    else coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = f.syscall), cast(f.syscall as text)) end as syscall,
  f.file, coalesce(k.hash, 0) as stack_hash, coalesce(q.hash, 0) as kernel_stack_hash, coalesce(f.stuck, 0) as stuck
from in_flight f
left join thread t on t.id = f.thread
left join session s on s.id = t.session
left join op_name n on n.id = f.inner
left join thread h on h.id = f.holder
left join stack k on k.id = f.stack
left join stack q on q.id = f.kernel
where f.op = 0 and f.silent is null;

-- Threads that make calls and made none for three seconds or more, each as it was when it was looked at last;
-- duration_ns is until then, or until its next call. peer is the process that has the other end of the pipe that it
-- waits for; stuck is 1 if no thread of its own process could end its wait.
create view silent_threads as
select s.node || ':' || f.start as id, f.start as timestamp, max(coalesce(f.end_ns, f.seen) - f.start, 0) as duration_ns, s.node,
  t.pid, t.tid, t.comm, f.end_ns is null as silent_at_the_end, f.seen,
  case f.doing when 1 then 'running' when 2 then 'runnable' when 3 then 'blocked' end as doing, f.since,
  (select name from class_name where id = f.class) as waits_for, f.futex, h.tid as holder_tid, h.comm as holder_comm,
  p.pid as peer_pid, p.comm as peer_comm, coalesce(f.stuck, 0) as stuck,
  case when f.syscall is null then null
    else coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = f.syscall), cast(f.syscall as text)) end as syscall,
  f.file, f.inode, coalesce(f.on_cpu, 0) as on_cpu_ns, coalesce(k.hash, 0) as stack_hash, coalesce(q.hash, 0) as kernel_stack_hash
from in_flight f
left join thread t on t.id = f.thread
left join session s on s.id = t.session
left join thread h on h.id = f.holder
left join thread p on p.id = f.peer
left join stack k on k.id = f.stack
left join stack q on q.id = f.kernel
where f.silent = 1;

-- What was done to graphs and captures, through the runtime or the driver: what the
-- runtime asked the driver to do is one row, not two. step is the operation's name
-- without the API's; a0 to a2 are its arguments. A row is a stored call, which stands for
-- weight calls; rest_ns is what the others took.
create view stored_graph_calls as
select c.ts as timestamp, c.dur as duration_ns, c.thread, t.session, t.pid, t.tid, t.comm, c.op, n.name as op_name,
  {graph_step} as step, coalesce(a.a0, 0) as a0, coalesce(a.a1, 0) as a1, coalesce(a.a2, 0) as a2,
  coalesce(c.ret, 0) as ret_code, coalesce(c.weight, 1) as weight, coalesce({rest}, 0) as rest_ns, c.stack
from call c join thread t on t.id = c.thread left join args a on a.id = c.args left join op_name n on n.id = c.op
where c.op in ({graph_ops}) and (coalesce(c.depth, 0) = 0 or c.op >> 8 <> 4
  or coalesce((select p.op >> 8 <> 8 and p.ts + p.dur >= c.ts + c.dur from call p where p.ts < c.ts and p.thread = c.thread and coalesce(p.depth, 0) = c.depth - 1
    order by p.ts desc limit 1), 0));

-- The same, a row for each call.
create view graph_calls as
select c.timestamp, {graph_ns} as duration_ns, c.thread, c.session, c.pid, c.tid, c.comm, c.op, c.op_name, c.step, c.a0, c.a1, c.a2,
  c.ret_code, 1 as weight, c.stack, n.n = 0 as stored
from stored_graph_calls c cross join tally n on n.n < c.weight;

-- The life of each executable graph: from its instantiation until its destruction, or
-- until another one is made under its handle. A launch that was counted only is one of the
-- graph of the call that was stored for it.
create view graph_execs as
with calls_ as materialized (
  select session, pid, step, a0 as exec, a1 as graph, timestamp as ts, duration_ns as dur, ret_code as ret, weight as n, rest_ns as rest, stack
  from stored_graph_calls where step in ('GraphInstantiate', 'GraphLaunch', 'GraphExecUpdate', 'GraphUpload', 'GraphExecDestroy')
), made as (
  select session, pid, exec, graph, ts, dur, stack, lead(ts) over (partition by session, pid, exec order by ts) as until
  from calls_ where step = 'GraphInstantiate' and ret = 0
)
select s.node || ':' || m.ts as id, m.ts as timestamp, s.node, m.pid, (select p.name from process p where p.pid = m.pid and p.session = m.session) as comm,
  m.exec as graph_exec, m.graph, m.dur as instantiate_ns,
  total(case when u.step = 'GraphLaunch' then u.n end) as launches, min(case when u.step = 'GraphLaunch' then u.ts end) as first_launch,
  max(case when u.step = 'GraphLaunch' then u.ts end) as last_launch, total(case when u.step = 'GraphLaunch' then u.dur + u.rest end) as launch_ns,
  total(case when u.step = 'GraphExecUpdate' then u.n end) as updates, total(case when u.step = 'GraphUpload' then u.n end) as uploads,
  total(case when u.ret not in (0, 600) then u.n end) as failed, max(case when u.step = 'GraphExecDestroy' and u.ret = 0 then u.ts end) as destroyed,
  coalesce(k.hash, 0) as stack_hash
from made m
left join calls_ u on u.session = m.session and u.pid = m.pid and u.exec = m.exec and u.step <> 'GraphInstantiate' and u.ts > m.ts and (m.until is null or u.ts < m.until)
left join session s on s.id = m.session
left join stack k on k.id = m.stack
group by m.session, m.pid, m.exec, m.ts;

-- Each capture of a stream's work: how long it went on, the graph that it gave, and
-- the error that ended it, if one did; failed_op is the first call of the thread
-- meanwhile that failed. capture_status is what the last question for it answered
-- (2: invalidated), or what its end says.
create view graph_captures as
with marks as materialized (
  select *, max(case when step like 'StreamBegin%' then timestamp end) over before as began,
    max(case when step in ('StreamIsCapturing', 'StreamGetCaptureInfo') then timestamp end) over before as asked
  from stored_graph_calls where step in ('StreamBeginCapture', 'StreamBeginCaptureToGraph', 'StreamEndCapture', 'StreamIsCapturing', 'StreamGetCaptureInfo')
  window before as (partition by thread order by timestamp)
)
select s.node || ':' || e.timestamp as id, coalesce(e.began, e.timestamp) as timestamp, e.timestamp + e.duration_ns - coalesce(e.began, e.timestamp) as duration_ns, s.node, e.pid, e.tid, e.comm,
  e.a0 as stream, case e.ret_code when 0 then e.a1 end as graph, e.ret_code,
  (select o.name from call f join op_name o on o.id = f.op where f.thread = e.thread and f.ts between e.began and e.timestamp - 1 and f.ret not in (0, 600) order by f.ts limit 1) as failed_op,
  (select f.ret from call f where f.thread = e.thread and f.ts between e.began and e.timestamp - 1 and f.ret not in (0, 600) order by f.ts limit 1) as failed_code,
  case b.a1 when 0 then 'global' when 1 then 'thread_local' when 2 then 'relaxed' end as capture_mode,
  case coalesce(q.a1, case e.ret_code when 0 then 1 when 901 then 2 end) when 0 then 'none' when 1 then 'active' when 2 then 'invalidated' end as capture_status,
  (select total(coalesce(f.weight, 1)) from call f where f.thread = e.thread and f.op in ({launches}) and coalesce(f.depth, 0) = 0 and f.ts between e.began and e.timestamp) as launches
from marks e
left join marks b on b.thread = e.thread and b.timestamp = e.began
left join marks q on q.thread = e.thread and q.timestamp = e.asked and q.a0 = e.a0 and q.timestamp > e.began
left join session s on s.id = e.session
where e.step = 'StreamEndCapture';

-- Launches of graphs, and whether the stream was being captured then: such a launch
-- becomes a part of the graph that is captured.
create view graph_launches as
select s.node || ':' || g.timestamp || {copy} as id, g.timestamp, {launch_ns} as duration_ns, s.node, g.pid, g.tid, g.comm, g.op_name as op, g.a0 as graph_exec, g.a1 as stream,
  case when g.began > coalesce(g.ended, 0) then 'active' else 'none' end as capture_status, g.ret_code, 1 as weight, n.n = 0 as stored
from (
  select *, max(case when step like 'StreamBegin%' then timestamp end) over before as began,
    max(case when step = 'StreamEndCapture' then timestamp end) over before as ended
  from stored_graph_calls where step in ('GraphLaunch', 'StreamBeginCapture', 'StreamBeginCaptureToGraph', 'StreamEndCapture')
  window before as (partition by session, pid, case when step = 'GraphLaunch' then a1 else a0 end order by timestamp)
) g left join session s on s.id = g.session cross join tally n on n.n < g.weight where g.step = 'GraphLaunch';

-- The places whose allocations hold, or held, most memory of a process, as told last:
-- what is live, the most there was, and how often the process was refused. kind tells
-- managed memory, which host and device share, and memory of stream-ordered pools from
-- other device memory.
create view allocations as
select max(m.ts) as timestamp, s.node, t.pid, (select n.name from process n where n.pid = t.pid and n.session = t.session) as comm,
  case when m.op in ({cudaMallocManaged}, {cuMemAllocManaged}) then 'managed' when m.space = 1 then 'pinned'
    when m.op in ({cudaMallocAsync}, {cudaMallocFromPoolAsync}, {cuMemAllocAsync}, {cuMemAllocFromPoolAsync}) then 'pool' else 'device' end as kind, o.name as op,
  coalesce(k.hash, 0) as stack_hash, m.live_bytes, m.live_count, (select max(p.live_bytes) from memory_site p where p.thread = m.thread and p.space = m.space and p.op = m.op and p.stack is m.stack) as peak_bytes,
  coalesce(m.oldest, 0) as oldest,
  (select p.live_bytes from memory_second p where p.thread = m.thread and p.space = m.space order by p.ts desc limit 1) as process_live_bytes,
  (select max(p.peak_bytes) from memory_second p where p.thread = m.thread and p.space = m.space) as process_peak_bytes,
  (select coalesce(sum(p.failed), 0) from memory_second p where p.thread = m.thread and p.space = m.space) as process_failed
from memory_site m
left join thread t on t.id = m.thread
left join session s on s.id = t.session
left join op_name o on o.id = m.op
left join stack k on k.id = m.stack
group by m.thread, m.space, m.op, m.stack;

-- Allocations that were refused, with the code that wanted them, and what the process
-- then had in the same space.
create view failed_allocations as
select s.node || ':' || c.ts as id, c.ts as timestamp, s.node, t.pid, t.tid, t.comm, o.name as op, coalesce(a.a0, 0) as bytes, c.ret as ret_code,
  (select m.live_bytes from memory_second m join thread h on h.id = m.thread where m.ts <= c.ts and h.session = t.session and h.pid = t.pid
    and m.space = case when c.op in ({pinned_allocs}) then {pinned} else {device} end order by m.ts desc limit 1) as process_live_bytes,
  coalesce(k.hash, 0) as stack_hash
from call c join thread t on t.id = c.thread join session s on s.id = t.session join op_name o on o.id = c.op
left join args a on a.id = c.args left join stack k on k.id = c.stack
where c.op in ({allocs}) and c.ret <> 0 and coalesce(c.depth, 0) = 0;

-- The places whose allocations were held longest and grew most: what lives at the end,
-- since when the oldest of it, and by how much it grew in the second half of the time in
-- which the process's memory was looked at. A place that grew is a candidate for a leak.
create view leak_candidates as
with ends as (
  select m.thread, min(m.ts) as first, max(m.ts) as last from memory_second m group by m.thread
), sites as (
  select m.*, row_number() over (partition by m.thread, m.space, m.op, m.stack order by m.ts desc) as n from memory_site m
)
select s.node, t.pid, (select p.name from process p where p.pid = t.pid and p.session = t.session) as comm, o.name as op, coalesce(k.hash, 0) as stack_hash,
  m.live_bytes, m.live_count, coalesce(m.oldest, 0) as oldest, e.last - m.oldest as oldest_age_ns,
  m.live_bytes - coalesce((select p.live_bytes from memory_site p where p.thread = m.thread and p.space = m.space and p.op = m.op and p.stack is m.stack
    and p.ts <= (e.first + e.last) / 2 order by p.ts desc limit 1), 0) as grown_bytes,
  m.live_count - coalesce((select p.live_count from memory_site p where p.thread = m.thread and p.space = m.space and p.op = m.op and p.stack is m.stack
    and p.ts <= (e.first + e.last) / 2 order by p.ts desc limit 1), 0) as grown_count
from sites m join ends e on e.thread = m.thread join thread t on t.id = m.thread join session s on s.id = t.session
left join op_name o on o.id = m.op left join stack k on k.id = m.stack
where m.n = 1 and m.live_count > 0 and grown_count > 0;

-- How allocating goes over time: allocations that take ever longer, or fail, while
-- little is live, are a sign that free memory is in pieces.
create view fragmentation as
select m.timestamp, m.node, m.pid, m.comm, m.space, m.live_bytes, m.live_count, m.peak_bytes, m.peak_bytes - m.live_bytes as below_peak_bytes,
  case when m.live_count > 0 then m.live_bytes / m.live_count end as mean_live_bytes, m.allocs, m.frees, m.failed,
  case when m.allocs > 0 then m.bytes / m.allocs end as mean_bytes, case when m.allocs + m.failed > 0 then m.alloc_ns / (m.allocs + m.failed) end as alloc_avg_ns
from memory m where m.allocs + m.frees + m.failed > 0;

create view throttles as
select h.ts as timestamp, g.path as cgroup, h.periods, h.ns as throttled_ns, h.quota_us, h.period_us, h.version as cgroup_version, s.node
from throttle h left join cgroup g on g.id = h.cgroup left join session s on s.id = coalesce(h.session, (select max(id) from session));

-- Exact statistics per second, thread and operation, whatever was thinned.
create view op_seconds as
select (r.id >> 20) * 1000000000 as timestamp, s.node, t.pid, t.tid, t.comm, o.source, o.name as op, r.calls,
  coalesce(r.errors, 0) as errors, r.sum as sum_ns, r.sum / r.calls as avg_ns, r.max as max_ns, coalesce(r.bytes, 0) as bytes, r.nested
from call_second r
left join thread t on t.id = r.thread
left join session s on s.id = t.session
left join op_name o on o.id = r.op;

-- Exact statistics of waits for the GPU, per second, thread, operation and the place in the
-- program that they are made from (call_site: arg3 of the calls).
create view wait_sites as
select (r.id >> 20) * 1000000000 as timestamp, s.node, t.pid, t.tid, t.comm, o.source, o.name as op, printf('0x%x', r.site) as call_site,
  r.calls, r.sum as sum_ns, r.sum / r.calls as avg_ns, r.max as max_ns
from site_second r
left join thread t on t.id = r.thread
left join session s on s.id = t.session
left join op_name o on o.id = r.op;

-- Each rank's part in a collective operation: when its call was made (enter, exit),
-- when it was queued, and the first call that waited for it. barrier_wait_ns is from
-- queueing to the end of that call. Rows of one operation have the same comm_id and seq.
create view collectives as
select s.node || ':' || c.ts || 'c' as id, c.ts as timestamp, s.node, t.pid, t.tid, t.comm, o.name as op, printf('%016x', c.comm_id) as communicator, c.comm_id,
  c.comm as handle, c.rank, c.ranks, c.seq, coalesce(c.bytes, 0) as bytes,
  case coalesce(c.datatype, 0) {datatypes} else c.datatype end as datatype,
  case when c.op in ({reducing}) then case coalesce(c.reduce_op, 0) {reduce_ops} else 'own' end end as reduce_op,
  c.peer, coalesce(c.stream, 0) as stream, c.grp as group_start,
  c.start as enter, c.start + c.dur as exit, c.ts as queued, y.name as sync_op, c.sync_tid,
  c.sync_ts as sync_start, c.sync_ts + c.sync_dur as sync_end, c.sync_ts + c.sync_dur - c.ts as barrier_wait_ns, coalesce(c.ret, 0) as ret_code
from collective c
left join thread t on t.id = c.thread
left join session s on s.id = t.session
left join op_name o on o.id = c.op
left join op_name y on y.id = c.sync_op;

-- How far each machine's clock is ahead of that of the first, by the collective
-- operations that both had a part in: one ends on all ranks at about the same time, so
-- the median of the differences tells. Null where there are fewer than five, and 0 where
-- both are the same kernel under two names.
create view clock_offsets as
with machines as (
  select min(id) as machine, node, boot, min(id) = (select min(id) from session) as is_first,
    boot <> '' and boot = (select boot from session order by id limit 1) as same_kernel
  from session group by node, boot
), ends as (
  select m.machine, m.is_first, c.comm_id, c.seq, min(c.sync_ts + c.sync_dur) as at
  from collective c join thread t on t.id = c.thread join session s on s.id = t.session join machines m on m.node = s.node and m.boot = s.boot
  join op_name o on o.id = c.op
  where c.comm_id is not null and c.seq is not null and c.sync_op is not null and coalesce(c.ret, 0) = 0 and o.name not in ('ncclSend', 'ncclRecv')
  group by 1, c.comm_id, c.seq
), apart as (
  select e.machine, e.at - f.at as ns, row_number() over (partition by e.machine order by e.at - f.at) as n, count(*) over (partition by e.machine) as operations
  from ends e join ends f on f.comm_id = e.comm_id and f.seq = e.seq where f.is_first and not e.is_first
)
select m.machine, m.node, m.boot, case when m.is_first or m.same_kernel then 0 when a.operations >= 5 then a.ns end as ahead_ns, coalesce(a.operations, 0) as operations
from machines m left join apart a on a.machine = m.machine and a.n = a.operations / 2 + 1;

-- Collective operations of which two ranks or more were recorded: who came last, and
-- how long after the others. Pairs of a send and a receive are not in it. Times are of
-- the first machine's clock; where ranks are of several whose clocks were not compared,
-- who was last is not known.
create view collective_arrivals as
select printf('%016x', comm_id) as communicator, seq, max(op) as op, min(at) as first_queued, max(at) as last_queued,
  count(*) as ranks_seen, max(ranks) as ranks,
  case when count(distinct machine) = 1 or count(ahead_ns) = count(*) then max(case when n = 1 then rank end) end as last_rank,
  case when count(distinct machine) = 1 or count(ahead_ns) = count(*) then max(case when n = 1 then pid end) end as last_pid,
  case when count(distinct machine) = 1 or count(ahead_ns) = count(*)
    then max(case when n = 1 then at end) - max(case when n = 2 then at end) end as late_ns,
  max(barrier_wait_ns) as longest_wait_ns,
  case when count(distinct machine) = 1 or count(ahead_ns) = count(*) then max(case when n = 1 then node end) end as last_node,
  count(distinct machine) as machines
from (select *, row_number() over (partition by comm_id, seq order by at desc) as n from (
  select c.comm_id, c.seq, o.name as op, c.rank, c.ranks, t.pid, s.node, k.machine, k.ahead_ns, c.ts - coalesce(k.ahead_ns, 0) as at,
    c.sync_ts + c.sync_dur - c.ts as barrier_wait_ns
  from collective c join thread t on t.id = c.thread join session s on s.id = t.session join op_name o on o.id = c.op
  left join clock_offsets k on k.node = s.node and k.boot = s.boot
  where c.comm_id is not null and c.seq is not null and coalesce(c.ret, 0) = 0 and o.name not in ('ncclSend', 'ncclRecv')))
group by comm_id, seq having count(*) > 1;
