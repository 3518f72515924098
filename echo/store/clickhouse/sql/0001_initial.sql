-- A row for each point of a metric, line of a log, and span. Rows of one hour are a partition (of a day in tables of
-- before 2026-12), so that those that are the same (same time and key) are in one, and a part that was merged is not
-- merged again when it is read.
create table if not exists {{.Local "point"}}{{.OnCluster}} (
    timestamp_ns    Int64 codec (DoubleDelta, ZSTD(1)),
    received_ns     Int64 codec (DoubleDelta, ZSTD(1)),
    cluster_id      LowCardinality(String),
    node_id         LowCardinality(String),
    kind            LowCardinality(String),
    metric_name     LowCardinality(Nullable(String)),
    unit            LowCardinality(Nullable(String)),
    temporality     LowCardinality(Nullable(String)),
    start_ns        Nullable(Int64),
    rank            Nullable(Int32),
    nranks          Nullable(Int32),
    value_double    Nullable(Float64),
    value_int       Nullable(Int64),
    event_name      LowCardinality(Nullable(String)),
    severity        LowCardinality(Nullable(String)),
    severity_number Nullable(Int32),
    body            Nullable(String) codec (ZSTD(1)),
    trace_id        Nullable(String),
    span_id         Nullable(String),
    parent_span_id  Nullable(String),
    duration_ns     Nullable(Int64),
    attrs_json      String codec (ZSTD(1)),
    resource_json   LowCardinality(String),
    scope           LowCardinality(Nullable(String)),
    count           Nullable(Int64),
    sum             Nullable(Float64),
    min             Nullable(Float64),
    max             Nullable(Float64),
    p50             Nullable(Float64),
    p90             Nullable(Float64),
    p99             Nullable(Float64),
    bucket_lower    Array(Float64),
    bucket_upper    Array(Float64),
    bucket_count    Array(Int64),
    key             UInt64,
    index received received_ns type minmax granularity 1
)
engine = {{.Engine "ReplacingMergeTree" "point"}}
partition by intDiv(timestamp_ns, 3600000000000)
order by (cluster_id, metric_name, node_id, timestamp_ns, key)
settings allow_nullable_key = 1, fsync_after_insert = 1, fsync_part_directory = 1;
{{if .Cluster}}
create table if not exists point{{.OnCluster}} as point_local
engine = Distributed({{.Cluster}}, currentDatabase(), point_local, key);
{{end}}
