-- What may be asked. Made anew whenever the file is opened, so that they are those of the program that opens it.

create or replace view events as
select timestamp_ns, received_ns, cluster_id, node_id, kind, metric_name, rank, nranks, value_double, value_int,
    coalesce(value_double, value_int) as value,
    attrs_json, attrs_json as attrs, resource_json, scope, unit, temporality, start_ns,
    null::varchar as event_name, null::varchar as severity, null::integer as severity_number, null::varchar as body,
    null::varchar as trace_id, null::varchar as span_id, null::varchar as parent_span_id, null::bigint as duration_ns,
    null::bigint as count, null::double as sum, null::double as min, null::double as max, null::double as p50,
    null::double as p90, null::double as p99,
    null::double[] as bucket_lower, null::double[] as bucket_upper, null::bigint[] as bucket_count
from point join series using (series)
union all
select timestamp_ns, received_ns, cluster_id, node_id, kind, metric_name, rank, nranks, null, null,
    sum / nullif(count, 0),
    attrs_json, attrs_json, resource_json, scope, unit, temporality, start_ns,
    null, null, null, null, null, null, null, null,
    count, sum, min, max, p50, p90, p99, bucket_lower, bucket_upper, bucket_count
from distribution join series using (series)
union all
select timestamp_ns, received_ns, cluster_id, node_id, kind, metric_name, rank, nranks, value_double, value_int,
    coalesce(value_double, value_int, sum / nullif(count, 0)) as value,
    attrs_json, attrs_json as attrs, resource_json, scope, unit, temporality, start_ns,
    event_name, severity, severity_number, body, trace_id, span_id, parent_span_id, duration_ns,
    count, sum, min, max, p50, p90, p99, bucket_lower, bucket_upper, bucket_count
from record;

create or replace view findings as
select timestamp_ns, received_ns, cluster_id, node_id, rank, severity, body as summary,
    json_extract_string(attrs_json, '$."ingero.finding.id"') as finding_id,
    json_extract_string(attrs_json, '$."ingero.cause.kind"') as cause,
    json_extract_string(attrs_json, '$."ingero.cause.process"') as cause_process,
    try_cast(json_extract_string(attrs_json, '$."ingero.cause.pid"') as bigint) as cause_pid,
    json_extract_string(attrs_json, '$."ingero.cause.detail"') as cause_detail,
    json_extract_string(attrs_json, '$."ingero.root.process"') as root_process,
    try_cast(json_extract_string(attrs_json, '$."ingero.root.pid"') as bigint) as root_pid,
    json_extract_string(attrs_json, '$."ingero.effect.op"') as effect_op,
    json_extract_string(attrs_json, '$."process.executable.name"') as effect_process,
    try_cast(json_extract_string(attrs_json, '$."process.pid"') as bigint) as effect_pid,
    try_cast(json_extract_string(attrs_json, '$."thread.id"') as bigint) as effect_tid,
    try_cast(json_extract_string(attrs_json, '$."ingero.finding.lost_pct"') as double) as lost_pct,
    try_cast(json_extract_string(attrs_json, '$."ingero.finding.lost_ns"') as bigint) as lost_ns,
    try_cast(json_extract_string(attrs_json, '$."ingero.finding.explained_pct"') as double) as explained_pct,
    json_extract_string(attrs_json, '$."ingero.finding.event_ids"') as event_ids,
    json_extract_string(attrs_json, '$."ingero.finding.recommendations"') as recommendations,
    trace_id, span_id
from record
where event_name = 'ingero.finding';

create or replace view stragglers as
select timestamp_ns, received_ns, cluster_id, node_id, event_name as type, rank, nranks,
    json_extract_string(attrs_json, '$.event_id') as event_id,
    try_cast(json_extract_string(attrs_json, '$.pid') as bigint) as pid,
    event_name = 'straggler_resolved'
        or coalesce(json_extract_string(attrs_json, '$.resolved') = 'true', false) as resolved,
    json_extract_string(attrs_json, '$.since') as since,
    try_cast(json_extract_string(attrs_json, '$.score') as double) as score,
    try_cast(json_extract_string(attrs_json, '$.threshold') as double) as threshold,
    json_extract_string(attrs_json, '$.detection_mode') as detection_mode,
    json_extract_string(attrs_json, '$.dominant_signal') as dominant_signal,
    json_extract_string(attrs_json, '$.cohort') as cohort,
    try_cast(json_extract_string(attrs_json, '$.ranks') as integer) as ranks,
    try_cast(json_extract_string(attrs_json, '$.excess') as double) as excess,
    try_cast(json_extract_string(attrs_json, '$.own_ms') as double) as own_ms,
    try_cast(json_extract_string(attrs_json, '$.peer_ms') as double) as peer_ms,
    try_cast(json_extract_string(attrs_json, '$.lost_ms_per_step') as double) as lost_ms_per_step,
    try_cast(json_extract_string(attrs_json, '$.step_ms') as double) as step_ms,
    json_extract_string(attrs_json, '$.measured') as measured,
    coalesce(json_extract_string(attrs_json, '$.cause.kind'),
        json_extract_string(attrs_json, '$."cause.kind"')) as cause,
    coalesce(json_extract_string(attrs_json, '$.cause.culprit'),
        json_extract_string(attrs_json, '$."cause.culprit"')) as culprit,
    try_cast(coalesce(json_extract_string(attrs_json, '$.cause.ms_per_step'),
        json_extract_string(attrs_json, '$."cause.ms_per_step"')) as double) as cause_ms_per_step,
    try_cast(coalesce(json_extract_string(attrs_json, '$.cause.explained'),
        json_extract_string(attrs_json, '$."cause.explained"')) as double) as cause_explained,
    coalesce(json_extract_string(attrs_json, '$.cause.evidence_ids'),
        json_extract_string(attrs_json, '$."cause.evidence_ids"')) as evidence_ids
from record
where event_name in ('straggler_state', 'straggler_resolved', 'slow_vs_self', 'gone', 'missing', 'hang', 'cohort_slow',
    'cohort_degraded', 'inference_outlier');

create or replace view collectives as
select timestamp_ns as enter_ns, timestamp_ns + duration_ns as exit_ns, duration_ns, received_ns, cluster_id, node_id,
    rank, nranks,
    json_extract_string(attrs_json, '$."nccl.op_type"') as op_type,
    json_extract_string(attrs_json, '$."nccl.comm_id_hash"') as comm_id_hash,
    try_cast(json_extract_string(attrs_json, '$."nccl.seq"') as bigint) as seq,
    json_extract_string(attrs_json, '$."nccl.datatype"') as datatype,
    json_extract_string(attrs_json, '$."nccl.reduce_op"') as reduce_op,
    try_cast(json_extract_string(attrs_json, '$."nccl.peer_rank"') as integer) as peer_rank,
    try_cast(json_extract_string(attrs_json, '$."nccl.bytes"') as bigint) as bytes,
    try_cast(json_extract_string(attrs_json, '$."process.pid"') as bigint) as pid,
    json_extract_string(attrs_json, '$."ingero.node.address"') as node_address,
    json_extract_string(attrs_json, '$."ingero.collective.why"') as why,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.one_of"') as bigint) as one_of,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.own_ms"') as double) as own_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.usual_own_ms"') as double) as usual_own_ms,
    case when why = 'late' then own_ms - usual_own_ms end as late_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.wait_ms"') as double) as wait_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.usual_wait_ms"') as double) as usual_wait_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before_ms"') as double) as before_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.runq_ms"') as double) as before_runq_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.throttled_ms"') as double)
        as before_throttled_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.futex_ms"') as double) as before_futex_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.block_io_ms"') as double)
        as before_block_io_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.fault_ms"') as double) as before_fault_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.network_ms"') as double) as before_network_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.pipe_ms"') as double) as before_pipe_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.poll_ms"') as double) as before_poll_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.sleep_ms"') as double) as before_sleep_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.ioctl_ms"') as double) as before_ioctl_ms,
    try_cast(json_extract_string(attrs_json, '$."ingero.collective.before.other_ms"') as double) as before_other_ms,
    json_extract_string(attrs_json, '$."ingero.chain_ids"') as finding_ids,
    trace_id, span_id
from record
where kind = 'span' and json_extract_string(attrs_json, '$."nccl.op_type"') is not null;

create or replace view health as
select timestamp_ns, cluster_id, node_id, rank, max(nranks) as nranks,
    max(json_extract_string(attrs_json, '$."ingero.node.state"')) as state,
    max(v) filter (metric_name in ('ingero.node.health_score', 'ingero.health.score')) as health_score,
    max(v) filter (metric_name = 'ingero.node.throughput_ratio') as throughput_ratio,
    max(v) filter (metric_name = 'ingero.node.compute_efficiency') as compute_efficiency,
    max(v) filter (metric_name = 'ingero.node.memory_headroom') as memory_headroom,
    max(v) filter (metric_name = 'ingero.node.cpu_availability') as cpu_availability,
    max(v) filter (metric_name = 'ingero.node.degradation_warning') > 0 as suspect,
    max(v) filter (metric_name = 'ingero.node.straggler_event') > 0 as straggler,
    max(received_ns) as received_ns
from (
    select timestamp_ns, received_ns, cluster_id, node_id, rank, nranks, metric_name, attrs_json,
        coalesce(value_double, value_int) as v
    from events
    where metric_name in ('ingero.node.health_score', 'ingero.health.score', 'ingero.node.throughput_ratio',
        'ingero.node.compute_efficiency', 'ingero.node.memory_headroom', 'ingero.node.cpu_availability',
        'ingero.node.degradation_warning', 'ingero.node.straggler_event')
)
group by timestamp_ns, cluster_id, node_id, rank;

create or replace view minutes as
select timestamp_ns // 60000000000 * 60000000000 as minute_ns, cluster_id, node_id, rank, metric_name,
    count(*) as count, sum(v) as sum, min(v) as min, max(v) as max, quantile_cont(v, 0.5) as p50,
    quantile_cont(v, 0.9) as p90, quantile_cont(v, 0.99) as p99
from (
    select timestamp_ns, cluster_id, node_id, rank, metric_name, value as v
    from events
    where metric_name is not null
)
where v is not null
group by minute_ns, cluster_id, node_id, rank, metric_name;
