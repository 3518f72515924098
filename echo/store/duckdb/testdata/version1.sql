-- The tables and views of version 1, as it made them.

-- A row for each point of a metric, line of a log, and span. There is no index: rows come about in the order of their
-- times, so that the least and the greatest of each block of rows tell which blocks a question is about.
create table point (
    timestamp_ns    bigint not null,
    received_ns     bigint not null,
    cluster_id      varchar not null,
    node_id         varchar not null,
    kind            varchar not null,
    metric_name     varchar,
    unit            varchar,
    temporality     varchar,
    start_ns        bigint,
    rank            integer,
    nranks          integer,
    value_double    double,
    value_int       bigint,
    event_name      varchar,
    severity        varchar,
    severity_number integer,
    body            varchar,
    trace_id        varchar,
    span_id         varchar,
    parent_span_id  varchar,
    duration_ns     bigint,
    attrs_json      varchar not null,
    resource_json   varchar not null,
    scope           varchar,
    count           bigint,
    sum             double,
    min             double,
    max             double,
    p50             double,
    p90             double,
    p99             double,
    bucket_lower    double[],
    bucket_upper    double[],
    bucket_count    bigint[],
    key             ubigint not null
);

create table meta (version integer not null);
insert into meta values (1);

create or replace view events as
select timestamp_ns, received_ns, cluster_id, node_id, kind, metric_name, rank, nranks, value_double, value_int,
    coalesce(value_double, value_int, sum / count) as value,
    attrs_json, attrs_json as attrs, resource_json, scope, unit, temporality, start_ns,
    event_name, severity, severity_number, body, trace_id, span_id, parent_span_id, duration_ns,
    count, sum, min, max, p50, p90, p99, bucket_lower, bucket_upper, bucket_count
from point;

create or replace view health as
select timestamp_ns, cluster_id, node_id, rank, max(nranks) as nranks,
    max(json_extract_string(attrs_json, '$."ingero.node.state"')) as state,
    max(value_double) filter (metric_name in ('ingero.node.health_score', 'ingero.health.score')) as health_score,
    max(value_double) filter (metric_name = 'ingero.node.throughput_ratio') as throughput_ratio,
    max(value_double) filter (metric_name = 'ingero.node.compute_efficiency') as compute_efficiency,
    max(value_double) filter (metric_name = 'ingero.node.memory_headroom') as memory_headroom,
    max(value_double) filter (metric_name = 'ingero.node.cpu_availability') as cpu_availability,
    max(coalesce(value_double, value_int)) filter (metric_name = 'ingero.node.degradation_warning') > 0 as suspect,
    max(coalesce(value_double, value_int)) filter (metric_name = 'ingero.node.straggler_event') > 0 as straggler,
    max(received_ns) as received_ns
from point
where metric_name in ('ingero.node.health_score', 'ingero.health.score', 'ingero.node.throughput_ratio',
    'ingero.node.compute_efficiency', 'ingero.node.memory_headroom', 'ingero.node.cpu_availability',
    'ingero.node.degradation_warning', 'ingero.node.straggler_event')
group by timestamp_ns, cluster_id, node_id, rank;
