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
  1 as weight, 0 as depth, null as kernel
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

create view files as
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
left join session s on s.id = coalesce(t.session, (select max(id) from session))
left join op_name o on o.id = c.op;

-- How traced processes used the host's memory, about once a second; faults are since
-- the row before.
create view host_memory_seconds as
select m.ts as timestamp, s.node, t.pid, (select n.name from process n where n.pid = t.pid and n.session = t.session) as comm,
  coalesce(m.minor, 0) as minor_faults, coalesce(m.major, 0) as major_faults, coalesce(m.rss, 0) as rss_bytes, coalesce(m.swap, 0) as swap_bytes
from host_memory m left join thread t on t.id = m.thread left join session s on s.id = t.session;

-- Calls and host events. A row of a thinned recording stands for weight calls.
create view events as
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from calls
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from off_cpu_events
union all
select id, timestamp, duration, duration_ns, node, rank, pid, tid, source, op, gpu_id, arg0, arg1, arg2, arg3,
  ret_code, stack_hash, cgroup_id, weight, depth, kernel from life_events
union all
select id, timestamp, duration_ns, duration_ns, node, rank, pid, tid, source, op, -1, bytes, sector, device_id, queue_ns,
  error, 0, cgroup_id, 1, 0, null from io_requests
union all
select id, timestamp, duration_ns, duration_ns, node, rank, pid, tid, source, op, -1, remote_port, retransmits, rtt_us, error,
  error, 0, cgroup_id, 1, 0, null from tcp_events;

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
-- were in, and processes that started or ended.
create view host_events as
select id, timestamp, duration_ns, node, pid, tid, comm, 'sched_switch' as op, class, syscall,
  in_op, runq_ns, waker_comm, culprit_comm from off_cpu
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, null, null, null, 0, null, null from life_events;

-- Waits of threads for sockets, and what went wrong on TCP connections.
create view net_events as
select o.id, o.timestamp, o.duration_ns, o.node, o.pid, o.tid, o.comm, o.syscall as op, 0 as bytes, o.waker_comm as peer, o.in_op,
  case k.kind when 1 then 'tcp' when 2 then 'unix' when 3 then 'other' end as protocol, k.lport as local_port, k.rport as remote_port,
  k.remote, k.peer as peer_pid, null as local, null as state, 0 as error, null as retransmits, null as rtt_us, null as min_rtt_us
from off_cpu o left join socket k on k.ts = o.timestamp where o.class_id = 5
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, bytes, null, null, 'tcp', local_port, remote_port,
  remote, null, local, state, error, retransmits, rtt_us, min_rtt_us from tcp_events;

-- Waits of threads for files and devices, and the requests that devices got.
create view io_events as
select id, timestamp, duration_ns, node, pid, tid, comm, syscall as op, 0 as bytes, '' as device, inode, in_op,
  (select f.path from file f join session s on s.id = f.session where s.node = o.node and f.pid = o.pid and f.inode = o.inode) as path,
  null as sector, null as queue_ns, null as device_ns, null as flags, 0 as error
from off_cpu o where class_id = 3
union all
select id, timestamp, duration_ns, node, pid, tid, comm, op, bytes, device, inode, null,
  path, sector, queue_ns, device_ns, flags, error from io_requests;

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
