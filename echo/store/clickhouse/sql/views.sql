-- What may be asked. Made anew whenever the store is opened, so that they are those of the program that opens it. The
-- columns are those of the store of DuckDB. Each reads with FINAL: what was written twice is one row.

create or replace view events{{.OnCluster}} as
select timestamp_ns, received_ns, cluster_id, node_id, kind, metric_name, rank, nranks, value_double, value_int,
    coalesce(value_double, toFloat64(value_int), sum / nullIf(count, 0)) as value,
    attrs_json, attrs_json as attrs, resource_json, scope, unit, temporality, start_ns,
    event_name, severity, severity_number, body, trace_id, span_id, parent_span_id, duration_ns,
    count, sum, min, max, p50, p90, p99, bucket_lower, bucket_upper, bucket_count
from point final;

create or replace view findings{{.OnCluster}} as
select timestamp_ns, received_ns, cluster_id, node_id, rank, severity, body as summary,
    JSONExtract(attrs_json, 'ingero.finding.id', 'Nullable(String)') as finding_id,
    JSONExtract(attrs_json, 'ingero.cause.kind', 'Nullable(String)') as cause,
    JSONExtract(attrs_json, 'ingero.cause.process', 'Nullable(String)') as cause_process,
    JSONExtract(attrs_json, 'ingero.cause.pid', 'Nullable(Int64)') as cause_pid,
    JSONExtract(attrs_json, 'ingero.cause.detail', 'Nullable(String)') as cause_detail,
    JSONExtract(attrs_json, 'ingero.root.process', 'Nullable(String)') as root_process,
    JSONExtract(attrs_json, 'ingero.root.pid', 'Nullable(Int64)') as root_pid,
    JSONExtract(attrs_json, 'ingero.effect.op', 'Nullable(String)') as effect_op,
    JSONExtract(attrs_json, 'process.executable.name', 'Nullable(String)') as effect_process,
    JSONExtract(attrs_json, 'process.pid', 'Nullable(Int64)') as effect_pid,
    JSONExtract(attrs_json, 'thread.id', 'Nullable(Int64)') as effect_tid,
    JSONExtract(attrs_json, 'ingero.finding.lost_pct', 'Nullable(Float64)') as lost_pct,
    JSONExtract(attrs_json, 'ingero.finding.lost_ns', 'Nullable(Int64)') as lost_ns,
    JSONExtract(attrs_json, 'ingero.finding.explained_pct', 'Nullable(Float64)') as explained_pct,
    JSONExtract(attrs_json, 'ingero.finding.event_ids', 'Nullable(String)') as event_ids,
    JSONExtract(attrs_json, 'ingero.finding.recommendations', 'Nullable(String)') as recommendations,
    trace_id, span_id
from point final
where metric_name is null and event_name = 'ingero.finding';

create or replace view stragglers{{.OnCluster}} as
select timestamp_ns, received_ns, cluster_id, node_id, event_name as type, rank, nranks,
    JSONExtract(attrs_json, 'event_id', 'Nullable(String)') as event_id,
    JSONExtract(attrs_json, 'pid', 'Nullable(Int64)') as pid,
    cast(event_name = 'straggler_resolved'
        or coalesce(JSONExtract(attrs_json, 'resolved', 'Nullable(String)') = 'true', false),
        'Nullable(Bool)') as resolved,
    JSONExtract(attrs_json, 'since', 'Nullable(String)') as since,
    JSONExtract(attrs_json, 'score', 'Nullable(Float64)') as score,
    JSONExtract(attrs_json, 'threshold', 'Nullable(Float64)') as threshold,
    JSONExtract(attrs_json, 'detection_mode', 'Nullable(String)') as detection_mode,
    JSONExtract(attrs_json, 'dominant_signal', 'Nullable(String)') as dominant_signal,
    JSONExtract(attrs_json, 'cohort', 'Nullable(String)') as cohort,
    JSONExtract(attrs_json, 'ranks', 'Nullable(Int32)') as ranks,
    JSONExtract(attrs_json, 'excess', 'Nullable(Float64)') as excess,
    JSONExtract(attrs_json, 'own_ms', 'Nullable(Float64)') as own_ms,
    JSONExtract(attrs_json, 'peer_ms', 'Nullable(Float64)') as peer_ms,
    JSONExtract(attrs_json, 'lost_ms_per_step', 'Nullable(Float64)') as lost_ms_per_step,
    JSONExtract(attrs_json, 'step_ms', 'Nullable(Float64)') as step_ms,
    JSONExtract(attrs_json, 'measured', 'Nullable(String)') as measured,
    coalesce(JSONExtract(attrs_json, 'cause', 'kind', 'Nullable(String)'),
        JSONExtract(attrs_json, 'cause.kind', 'Nullable(String)')) as cause,
    coalesce(JSONExtract(attrs_json, 'cause', 'culprit', 'Nullable(String)'),
        JSONExtract(attrs_json, 'cause.culprit', 'Nullable(String)')) as culprit,
    coalesce(JSONExtract(attrs_json, 'cause', 'ms_per_step', 'Nullable(Float64)'),
        JSONExtract(attrs_json, 'cause.ms_per_step', 'Nullable(Float64)')) as cause_ms_per_step,
    coalesce(JSONExtract(attrs_json, 'cause', 'explained', 'Nullable(Float64)'),
        JSONExtract(attrs_json, 'cause.explained', 'Nullable(Float64)')) as cause_explained,
    coalesce(JSONExtract(attrs_json, 'cause', 'evidence_ids', 'Nullable(String)'),
        JSONExtract(attrs_json, 'cause.evidence_ids', 'Nullable(String)')) as evidence_ids
from point final
where metric_name is null
    and event_name in ('straggler_state', 'straggler_resolved', 'slow_vs_self', 'gone', 'missing', 'hang', 'cohort_slow',
    'cohort_degraded', 'inference_outlier');

create or replace view collectives{{.OnCluster}} as
select timestamp_ns as enter_ns, timestamp_ns + duration_ns as exit_ns, duration_ns, received_ns, cluster_id, node_id,
    rank, nranks,
    JSONExtract(attrs_json, 'nccl.op_type', 'Nullable(String)') as op_type,
    JSONExtract(attrs_json, 'nccl.comm_id_hash', 'Nullable(String)') as comm_id_hash,
    JSONExtract(attrs_json, 'nccl.seq', 'Nullable(Int64)') as seq,
    JSONExtract(attrs_json, 'nccl.datatype', 'Nullable(String)') as datatype,
    JSONExtract(attrs_json, 'nccl.reduce_op', 'Nullable(String)') as reduce_op,
    JSONExtract(attrs_json, 'nccl.peer_rank', 'Nullable(Int32)') as peer_rank,
    JSONExtract(attrs_json, 'nccl.bytes', 'Nullable(Int64)') as bytes,
    JSONExtract(attrs_json, 'process.pid', 'Nullable(Int64)') as pid,
    JSONExtract(attrs_json, 'ingero.node.address', 'Nullable(String)') as node_address,
    JSONExtract(attrs_json, 'ingero.collective.why', 'Nullable(String)') as why,
    JSONExtract(attrs_json, 'ingero.collective.one_of', 'Nullable(Int64)') as one_of,
    JSONExtract(attrs_json, 'ingero.collective.own_ms', 'Nullable(Float64)') as own_ms,
    JSONExtract(attrs_json, 'ingero.collective.usual_own_ms', 'Nullable(Float64)') as usual_own_ms,
    case when why = 'late' then own_ms - usual_own_ms end as late_ms,
    JSONExtract(attrs_json, 'ingero.collective.wait_ms', 'Nullable(Float64)') as wait_ms,
    JSONExtract(attrs_json, 'ingero.collective.usual_wait_ms', 'Nullable(Float64)') as usual_wait_ms,
    JSONExtract(attrs_json, 'ingero.collective.before_ms', 'Nullable(Float64)') as before_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.runq_ms', 'Nullable(Float64)') as before_runq_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.throttled_ms', 'Nullable(Float64)') as before_throttled_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.futex_ms', 'Nullable(Float64)') as before_futex_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.block_io_ms', 'Nullable(Float64)') as before_block_io_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.fault_ms', 'Nullable(Float64)') as before_fault_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.network_ms', 'Nullable(Float64)') as before_network_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.pipe_ms', 'Nullable(Float64)') as before_pipe_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.poll_ms', 'Nullable(Float64)') as before_poll_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.sleep_ms', 'Nullable(Float64)') as before_sleep_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.ioctl_ms', 'Nullable(Float64)') as before_ioctl_ms,
    JSONExtract(attrs_json, 'ingero.collective.before.other_ms', 'Nullable(Float64)') as before_other_ms,
    nullIf(JSONExtractRaw(attrs_json, 'ingero.chain_ids'), '') as finding_ids,
    trace_id, span_id
from point final
where metric_name is null and kind = 'span'
    and JSONExtract(attrs_json, 'nccl.op_type', 'Nullable(String)') is not null;

create or replace view health{{.OnCluster}} as
with coalesce(value_double, toFloat64(value_int)) as v
select timestamp_ns, cluster_id, node_id, rank, max(nranks) as nranks,
    max(JSONExtract(attrs_json, 'ingero.node.state', 'Nullable(String)')) as state,
    maxIf(v, metric_name in ('ingero.node.health_score', 'ingero.health.score')) as health_score,
    maxIf(v, metric_name = 'ingero.node.throughput_ratio') as throughput_ratio,
    maxIf(v, metric_name = 'ingero.node.compute_efficiency') as compute_efficiency,
    maxIf(v, metric_name = 'ingero.node.memory_headroom') as memory_headroom,
    maxIf(v, metric_name = 'ingero.node.cpu_availability') as cpu_availability,
    cast(maxIf(v, metric_name = 'ingero.node.degradation_warning') > 0, 'Nullable(Bool)') as suspect,
    cast(maxIf(v, metric_name = 'ingero.node.straggler_event') > 0, 'Nullable(Bool)') as straggler,
    max(received_ns) as received_ns
from point final
where metric_name in ('ingero.node.health_score', 'ingero.health.score', 'ingero.node.throughput_ratio',
    'ingero.node.compute_efficiency', 'ingero.node.memory_headroom', 'ingero.node.cpu_availability',
    'ingero.node.degradation_warning', 'ingero.node.straggler_event')
group by timestamp_ns, cluster_id, node_id, rank;

create or replace view minutes{{.OnCluster}} as
select minute_ns, cluster_id, node_id, rank, metric_name, countMerge(n) as count, sumMerge(total) as sum,
    minMerge(least) as min, maxMerge(greatest) as max, quantilesDDMerge(0.01, 0.5, 0.9, 0.99)(quantiles)[1] as p50,
    quantilesDDMerge(0.01, 0.5, 0.9, 0.99)(quantiles)[2] as p90,
    quantilesDDMerge(0.01, 0.5, 0.9, 0.99)(quantiles)[3] as p99
from minute final
group by minute_ns, cluster_id, node_id, rank, metric_name;
