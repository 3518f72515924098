-- What points have in common is here once, if more than one has come. The id is a hash of all of it. Series without
-- points are deleted.
create table series (
    series        bigint not null,
    id_0          ubigint not null,
    id_1          ubigint not null,
    kind          varchar not null,
    cluster_id    varchar not null,
    node_id       varchar not null,
    rank          integer,
    nranks        integer,
    metric_name   varchar not null,
    unit          varchar,
    temporality   varchar,
    attrs_json    varchar not null,
    resource_json varchar not null,
    scope         varchar
);

-- A row for each point that is a number. There is no index: rows come about in the order of their times, so that the
-- least and the greatest of each block of rows tell which blocks a question is about.
create table point (
    timestamp_ns bigint not null,
    received_ns  bigint not null,
    start_ns     bigint,
    series       bigint not null,
    value_double double,
    value_int    bigint,
    key          ubigint not null
);

-- The same for points that are histograms or summaries.
create table distribution (
    timestamp_ns bigint not null,
    received_ns  bigint not null,
    start_ns     bigint,
    series       bigint not null,
    count        bigint,
    sum          double,
    min          double,
    max          double,
    p50          double,
    p90          double,
    p99          double,
    bucket_lower double[],
    bucket_upper double[],
    bucket_count bigint[],
    key          ubigint not null
);
