-- What a rank's metric was in a minute. Keeper recomputes a minute as a whole when rows of it came, and the newest
-- wins, so that a row that was written twice counts once here, too.
create table if not exists {{.Local "minute"}}{{.OnCluster}} (
    minute_ns   Int64 codec (DoubleDelta, ZSTD(1)),
    cluster_id  LowCardinality(String),
    node_id     LowCardinality(String),
    metric_name LowCardinality(String),
    rank        Nullable(Int32),
    n           AggregateFunction(count),
    total       AggregateFunction(sum, Float64),
    least       AggregateFunction(min, Float64),
    greatest    AggregateFunction(max, Float64),
    quantiles   AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.99), Float64),
    through_ns  Int64
)
engine = {{.Engine "ReplacingMergeTree" "minute" "through_ns"}}
partition by intDiv(minute_ns, 86400000000000)
order by (cluster_id, metric_name, node_id, minute_ns, rank)
settings allow_nullable_key = 1, fsync_after_insert = 1, fsync_part_directory = 1;
{{if .Cluster}}
create table if not exists minute{{.OnCluster}} as minute_local
engine = Distributed({{.Cluster}}, currentDatabase(), minute_local, cityHash64(cluster_id, node_id));
{{end}}
