package storetest

import "strings"

// Dialect is the part of an engine's SQL that differs from the others'. All other statements of this package run on
// every store.
type Dialect struct {
	// Spread: rows that are written together may become visible one after the other, as over several servers.
	Spread bool
	// Engines are the numbers of the servers' processes that run the engine; nil: this one does.
	Engines []int
	// buckets sums the buckets that end at 4 or below.
	buckets string
	// allowed may be asked, attacks are refused, and expensive ones end at a limit.
	allowed, attacks, expensive []string
}

// DuckDB is the dialect of the DuckDB store.
var DuckDB = Dialect{
	buckets: "select sum(n) from (select unnest(bucket_count) as n, unnest(bucket_upper) as u from events) where u <= 4",
	allowed: []string{
		"FROM events LIMIT 1",
		"select time_bucket(interval 1 second, to_timestamp(timestamp_ns / 1000000000)) as t, count(*) from events group by all",
		"select * exclude (attrs) from events where node_id in (select node_id from events where rank = 5) limit 3",
		"select node_id || '/' || rank as who, median(value), mad(value), quantile_cont(value, [0.5, 0.9]) from events group by who",
		"select json_extract_string(attrs_json, '$.i')::int as i, attrs_json ->> '$.i' from events order by i limit 3",
		"select 2 ** 3, 7 // 2, 'a' like 'A', 'a' ilike 'A', 'a' similar to 'b', coalesce(null, 1)",
		"select " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"select rank::varchar, '1'::double, '1.5'::decimal(5, 2), attrs_json::json, try_cast('x' as bigint), true::int::boolean, '1 day'::interval from events limit 1",
		"select date '2020-01-01' + interval 1 day, '2020-01-01'::timestamp, now()::date, '2020-01-01'::timestamptz, '2020-01-01'::timestamp_ns, '12:00'::time",
		"select max(attrs_json), arg_max(attrs_json, rank), min_by(rank, value), max(COLUMNS('val.*')) from events",
		"select percentile_disc([0.5, 0.9]) within group (order by value), quantile_disc(node_id, 0.5), approx_quantile(value, [0.1, 0.9]) from events",
		"select json_extract_string(attrs_json, ['$.i', '$.j']), unnest(json_extract(attrs_json, '$.*')), json_keys(attrs_json) from events limit 1",
		"select strftime(to_timestamp(timestamp_ns / 1e9), '%H:%M'), regexp_extract(attrs_json, '([0-9]+)', 1) from events limit 1",
		"with n as (select node_id, count(*) as findings from findings group by node_id) select node_id, findings from n where findings > (select avg(findings) from n)",
		"select who, events from (select node_id || '/' || rank as who, count(*) as events from events group by 1) order by events",
		"with score as (select node_id, max(value) as score from events group by node_id) select node_id, score from score order by score",
		"with score as (select node_id, max(value) as score from events group by 1) select node_id, score from score where score > (select avg(score) from score)",
		"with score as (select node_id, max(value) as score from events group by 1) select score.node_id, score.score from score where score.score > (select avg(s.score) from score s)",
		"select a.*, b.* from events a join health b using (node_id, rank) join collectives c using (node_id) order by all limit 3",
		severalWiths,
		"select node_id || '/' || rank || ': ' || metric_name || ' = ' || value || ' ' || unit as words from events limit 3",
		"select json_array(cluster_id, node_id, rank, metric_name, value, timestamp_ns, attrs_json) from events limit 3",
		"select " + listed(30, "json_extract_string(attrs_json, '$.a%d')::double as a%[1]d") + " from events limit 3",
		"select strftime(to_timestamp(timestamp_ns / 1e9), '[%H:%M]'), strftime('%c', to_timestamp(timestamp_ns / 1e9)) from events limit 3",
		"select nullif(value, 0), nullif(nullif(unit, ''), '1'), split_part(node_id, '-', 1), split_part(body, ':', 1) from events limit 3",
		"select case rank when 0 then 'a' when 1 then 'b' else 'c' end, case kind when 'gauge' then 1 when 'sum' then 2 end from events limit 3",
		"select case" + strings.Repeat(" when rank = 1 then 1", 40) + " end from events limit 3",
		"select sum(value) over w, max(value) over w from events window w as (partition by node_id order by timestamp_ns) limit 3",
		"select max(columns('val.*')), count(columns(*)), reservoir_quantile(value, 0.5) from events",
		"with a as (select e from events e) select count(e) from a",
	},
	attacks: []string{ // no limit of the engine counts what joins texts
		"SELECT $1",
		"SELECT 'x' || 'y' AS a, a || a AS b, b || b AS c FROM events",
		"WITH a AS (SELECT attrs_json || attrs_json AS x FROM events), b AS (SELECT x || x AS y FROM a) SELECT max(length(y || y)) FROM b",
		"SELECT max(length(y || y)) FROM (SELECT x || x AS y FROM (SELECT attrs_json || attrs_json AS x FROM events))",
		"SELECT attrs_json || attrs_json AS a, a AS b, b || b AS c, c AS d, d || d AS e FROM events",
		"SELECT attrs_json || attrs_json AS a, lower(a) AS b, b || b AS c FROM events",
		"SELECT [attrs_json] AS a, a::varchar AS b, [b] AS c FROM events",
		"SELECT [[[attrs_json]::varchar]::varchar]::varchar FROM events",
		"SELECT " + strings.Repeat("attrs_json || ", 60) + "attrs_json FROM events",
		"SELECT [" + strings.Repeat("attrs_json, ", 60) + "attrs_json] FROM events",
		// Each step multiplies a text: bits by eight, quotes by two, lists by their elements.
		"SELECT length(attrs_json" + strings.Repeat("::blob::bit::varchar", 3) + ") FROM events",
		"SELECT length('x'" + strings.Repeat("::blob::bit::varchar", 3) + ")", "SELECT attrs_json::varchar[] FROM events",
		"SELECT attrs_json::struct(a varchar) FROM events", "SELECT '9'::bignum", "SELECT attrs_json::variant FROM events",
		"SELECT length(json_array(lower(json_array(lower(json_array(attrs_json)))))) FROM events",
		"SELECT coalesce([coalesce([attrs_json], NULL)::varchar], NULL)::varchar FROM events",
		"SELECT json_extract_string(json_extract_string(attrs_json, ['$'])::json, ['$'])::json FROM events",
		"SELECT json_extract(attrs_json, [" + strings.Repeat("'$', ", 60) + "'$']) FROM events",
		"SELECT ['$', '$'] AS p, json_extract(attrs_json, p) FROM events",
		"SELECT json_extract('" + strings.Repeat("[", 900) + strings.Repeat("]", 900) + "', '$..*')",
		"SELECT regexp_extract(regexp_extract(attrs_json, '((.*))', ['a', 'b'])::varchar, '((.*))', ['a', 'b']) FROM events",
		"SELECT b::json FROM (SELECT a::json::varchar AS c FROM (SELECT attrs_json AS c FROM events) a) b",
		"SELECT unnamed_subquery::json FROM (SELECT unnamed_subquery::json::varchar AS c FROM (SELECT attrs_json AS c FROM events))",
		"SELECT main.events::json, a::json FROM events, (SELECT main.events::json AS c FROM events) a",
		"SELECT strftime(now(), translate(strftime(now(), '%c'), '20', '%c'))",
		"SELECT length(strftime(now(), '" + strings.Repeat("%c", 3000) + "')) FROM events",
		// Lists of as many texts as are asked for.
		"SELECT max(attrs_json, 300000) FROM events", "SELECT min(attrs_json, 300000) FROM events",
		"SELECT arg_max(attrs_json, rank, 300000) FROM events", "SELECT arg_min(attrs_json, rank, 300000) FROM events",
		"SELECT max_by(attrs_json, rank, 300000) FROM events", "SELECT min_by(attrs_json, rank, 300000) OVER () FROM events",
		"SELECT quantile_disc(attrs_json, [" + strings.Repeat("0, ", 4000) + "0]) FROM events GROUP BY value",
		"SELECT percentile_disc([" + strings.Repeat("0, ", 4000) + "0]) WITHIN GROUP (ORDER BY attrs_json) FROM events GROUP BY value",
		"SELECT quantile_disc(attrs_json, '[0, 0, 0]') FROM events", "SELECT quantile_cont(value, [" + strings.Repeat("0, ", 4000) + "0]) FROM events",
		"SELECT concat(*COLUMNS('attrs.*')) FROM events", "SELECT greatest(*COLUMNS('attrs.*')) FROM events",
		"SELECT concat(COLUMNS('attrs.*'), 'x') FROM events", "SELECT lower(COLUMNS('attrs.*')) FROM events",
		"SELECT min(rank) EXPORT_STATE FROM events",
		"SELECT CASE WHEN COLUMNS(*) IS NULL THEN 0 ELSE length(lower(lower(attrs_json))) END FROM (SELECT attrs_json, " +
			listed(500, "1 AS a%d") + " FROM events)",
		"SELECT rank FROM events WHERE COLUMNS(*) IS NULL AND length(lower(attrs_json)) > 0",
		"SELECT strftime('2020-01-01 %'::date, translate(strftime('2020-01-01 %'::date, translate('0101', '01', '%c')), '20-: 1', '%c'))",
		"SELECT strftime('%c'::varchar, attrs_json) FROM events", "SELECT strftime('2020-01-01 %', attrs_json) FROM events",
		"SELECT strftime(DATE '2020-01-01', '20%c' || attrs_json) FROM events", "SELECT strftime('epoch %', attrs_json) FROM events",
		"SELECT reservoir_quantile(value, 0.5, 2000000000) FROM events GROUP BY timestamp_ns",
		// Columns and expressions, which the engine makes before anything can interrupt it.
		"SELECT * FROM (" + nested(30, "SELECT *, * FROM (", "SELECT * FROM events", ")") + ")",
		chained(30, "SELECT * FROM events", "SELECT * FROM a%[1]d x, a%[1]d y"),
		chained(30, "SELECT rank FROM events", "SELECT x.rank FROM a%[1]d x, a%[1]d y"),
		chained(30, "SELECT rank FROM events", "SELECT rank FROM a%[1]d UNION ALL SELECT rank FROM a%[1]d"),
		"SELECT 1 AS a0, " + listed(30, "a%[1]d + a%[1]d AS a%[2]d"),
		"SELECT rank AS a0, " + listed(30, "a%[1]d + a%[1]d AS a%[2]d") + " FROM events WHERE a30 > 0 ORDER BY a30",
		"SELECT rank AS a0, " + listed(11, "a%[1]d + a%[1]d AS a%[2]d") + " FROM events WHERE a11 + a11 + a11 > 0",
		"SELECT rank AS a0, " + listed(11, "a%[1]d + a%[1]d AS a%[2]d") + " FROM events GROUP BY ALL HAVING a11 + a11 + a11 > 0",
		"SELECT rank AS a0, " + listed(11, "a%[1]d + a%[1]d AS a%[2]d") + " FROM events ORDER BY a11 + a11 + a11",
		"SELECT " + nested(30, "nullif(", "rank", ", 1)") + " FROM events",
		"SELECT " + nested(30, "split_part(", "node_id", ", 'a', 1)") + " FROM events",
		"SELECT length(split_part(body, '', 1)), length(split_part(body, '', 2)), length(split_part(body, '', 3)) FROM events",
		"SELECT " + nested(40, "CASE ", "rank", " WHEN 1 THEN 1 WHEN 2 THEN 2 END") + " FROM events", // already the parser copies it
		"SELECT " + nested(40, "CASE(", "rank", ")WHEN 1THEN 1WHEN 2THEN 2END") + " FROM events",
		"SELECT 1 " + strings.Repeat(",sum(1)over w", 500) + " FROM events WINDOW w AS (PARTITION BY 1" + strings.Repeat("+rank", 1500) + ")",
		"SELECT 1 FROM events e0, " + listed(200, "events e%[2]d"),
		"SELECT {" + listed(500, "'a%d': 1") + "} AS s, " + listed(100, "unnest(s)"),
		"SELECT unnest(e), unnest(e), unnest(e) FROM events e", "SELECT s.* FROM (SELECT {'a': 1} AS s)",
		// A column may hide the row of its table only if it has certainly the same name.
		"SELECT b::json FROM (SELECT a::json::varchar AS b FROM (SELECT attrs_json AS a FROM events) a(c)) b(c)",
		"WITH b AS (SELECT attrs_json AS c FROM events), a(c) AS (SELECT b::json::varchar AS a FROM b) SELECT a::json FROM a",
		// Texts that the engine keeps until all of them are made.
		"SELECT length(" + strings.Repeat("lower(", 100) + "concat(attrs_json, attrs_json, attrs_json)" + strings.Repeat(")", 100) + ") FROM events",
		"SELECT " + strings.Repeat("length(lower(attrs_json)) + ", 300) + "1 FROM events",
		"SELECT length(" + nested(250, "lower(", "body", ")") + ") FROM events",
		"SELECT length(attrs_json" + strings.Repeat("[1:]", 200) + ") FROM events",
		"SELECT attrs_json COLLATE NOCASE AS a, " + listed(300, "a = '%d'") + " FROM events",
		"SELECT length(" + strings.Repeat("body || ", 12) + "body) FROM events",
		"SELECT lower(lower(lower(body))) AS a, " + listed(100, "length(a) + %d") + " FROM events",
		"SELECT length(json_quote(body)), length(json_array(body, body, body, body, body)) FROM events",
	},
}

// ClickHouse is the dialect of the ClickHouse store.
var ClickHouse = Dialect{
	buckets: "select sum(n) from (select n, u from events array join bucket_count as n, bucket_upper as u) where u <= 4",
	allowed: []string{
		"from events select * limit 1",
		"select toStartOfSecond(fromUnixTimestamp64Nano(timestamp_ns)) as t, count(*) from events group by all",
		"select * except (attrs) from events where node_id in (select node_id from events where rank = 5) limit 3",
		"select concat(node_id, '/', toString(rank)) as who, median(value), quantile_cont(value, [0.5, 0.9]), quantileExact(0.5)(value) " +
			"from events group by who",
		"select json_extract_string(attrs_json, '$.i')::int as i, JSONExtractInt(attrs_json, 'i') from events order by i limit 3",
		"select intDiv(7, 2), 'a' like 'A', 'a' ilike 'A', 7 % 2, 1 ? 2 : 3, [1, 2][1], (1, 'a').2",
		"select quantile_cont(value, 0.5) filter (where rank = 1), countIf(rank > 3), sum(value) over (order by timestamp_ns) from events " +
			"group by value, timestamp_ns limit 3",
		"with 5 as five, a as (select rank from events where rank = five) select count() from a as b join a as c on b.rank = c.rank",
		"select arrayJoin([1, 2]) as x, `x` + 1 from events array join [3] as y limit 1 by node_id",
		"select rank from events where rank in (1, 2) and rank not in [3] and (rank, node_id) in (select rank, node_id from events) limit 1",
		"select rank from events order by rank with fill limit 3", "select 1 union select 2 except select 2",
		"select " + strings.Repeat("attrs_json || ", 60) + "attrs_json from events limit 1",
	},
	attacks: []string{
		// Tables other than the published ones.
		"SELECT * FROM system.tables", "SELECT * FROM `system.tables`", "SELECT * FROM system.`users`", "SELECT * FROM INFORMATION_SCHEMA.TABLES",
		"SELECT * FROM minute", "SELECT rank FROM events WHERE rank IN point", "SELECT rank FROM events WHERE rank IN (point)",
		"SELECT in(rank, point) FROM events", "SELECT rank FROM events WHERE rank GLOBAL NOT IN system.one",
		"SELECT * FROM point WINDOW point AS (ORDER BY rank)", "SELECT * FROM point WINDOW point AS (SELECT PARTITION BY rank)",
		"WITH x AS (SELECT 1) SELECT * FROM point WINDOW point AS (ORDER BY rank)", "WITH point AS (SELECT 1) SELECT * FROM point",
		"WITH `a\n TableIdentifier events` AS (SELECT 1) SELECT * FROM point", "SELECT 1 AS `a\n  b`", "SELECT * FROM events AS `x\ty`",
		"SELECT 1 FROM (WITH meta AS (SELECT 1) SELECT 1), meta",
		"WITH `system.users` AS (SELECT * FROM system.users) SELECT * FROM `system.users`",
		"SELECT * FROM system.query_log WHERE 1 IN (WITH `system.query_log` AS (SELECT 1 AS x) SELECT x FROM `system.query_log`)",
		// Table functions, and functions that read.
		"SELECT * FROM file('/etc/passwd', 'LineAsString')", "SELECT * FROM url('http://127.0.0.1/', 'LineAsString')",
		"SELECT * FROM remote('127.0.0.1', system.one)", "SELECT * FROM remoteSecure('127.0.0.1', system.one)",
		"SELECT * FROM cluster('default', system.one)", "SELECT * FROM clusterAllReplicas('default', system.one)",
		"SELECT * FROM s3('http://127.0.0.1/x')", "SELECT * FROM mysql('127.0.0.1:3306', 'a', 'b', 'c', 'd')",
		"SELECT * FROM executable('x.sh', 'TSV', 'a String')", "SELECT * FROM numbers(1000000000000)", "SELECT * FROM zeros(1000000000000)",
		"SELECT * FROM generateRandom('a String')", "SELECT * FROM merge('.*')", "SELECT * FROM merge(currentDatabase(), 'point')",
		"SELECT * FROM view(SELECT * FROM point)", "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM point))",
		"SELECT * FROM viewIfPermitted(SELECT 1 ELSE null('x Int8'))", "SELECT * FROM input('a String')", "SELECT * FROM null('a String')",
		"SELECT * FROM dictionary('x')", "SELECT * FROM loop(point)", "SELECT * FROM mergeTreeIndex(currentDatabase(), 'point')",
		"SELECT * FROM values('a Int8', 1)", "SELECT * FROM format(JSONEachRow, '{}')", "SELECT * FROM fileCluster('a', 'b', 'c')",
		"SELECT * FROM timeSeriesData(x)", "SELECT * FROM hdfs('hdfs://x/y')", "SELECT file('/etc/passwd')", "SELECT dictGet('a', 'b', 1)",
		"SELECT joinGet('point', 'rank', 1)", "SELECT getSetting('max_memory_usage')", "SELECT getMacro('shard')", "SELECT hostName()",
		"SELECT currentUser()", "SELECT currentDatabase()", "SELECT serverUUID()", "SELECT uptime()", "SELECT sleep(3)",
		"SELECT sleepEachRow(1) FROM events", "SELECT hasColumnInTable(currentDatabase(), 'point', 'key')", "SELECT filesystemAvailable()",
		"SELECT addressToLine(1)", "SELECT catboostEvaluate('x', 1)", "SELECT getServerPort('tcp_port')", "SELECT initializeAggregation('sum', 1)",
		"SELECT structureToCapnProtoSchema('a String')", "SELECT evalMLMethod(1, 1)", "SELECT throwIf(1)", "SELECT defaultValueOfTypeName('x')",
		// What takes memory.
		"SELECT range(1000000000)", "SELECT repeat('x', 1000000000)", "SELECT space(1000000000)", "SELECT leftPad('x', 1000000000)",
		"SELECT groupArray(attrs_json) FROM events", "SELECT groupUniqArray(attrs_json) FROM events", "SELECT groupConcat(attrs_json) FROM events",
		"SELECT arrayWithConstant(1000000000, 1)", "SELECT replaceAll(attrs_json, '', attrs_json) FROM events", "SELECT format('{}', attrs_json) FROM events",
		"SELECT arrayMap(x -> x + 1, [1])", "SELECT arrayStringConcat([attrs_json], 'x') FROM events", "SELECT randomString(1000000000)",
		"SELECT sumMap([1], [1]) FROM events", "SELECT sumState(value) FROM events", "SELECT quantileState(0.5)(value) FROM events",
		"SELECT CAST('x' AS AggregateFunction(uniq, UInt64))", "SELECT attrs_json::SimpleAggregateFunction(max, String) FROM events",
		"SELECT CAST('x', 'Aggregate' || 'Function(uniq, UInt64)')",
		// Statements other than SELECT, or several.
		"SELECT * FROM events INTO OUTFILE '/tmp/ingero-echo-attack'", "SELECT * FROM events FORMAT Native", "SELECT 1 SETTINGS readonly = 0",
		"SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)", "SELECT * FROM events SETTINGS max_execution_time = 0",
		"SET readonly = 0", "SET max_memory_usage = 0", "EXPLAIN AST SELECT 1", "EXPLAIN QUERY TREE SELECT 1", "SYSTEM SHUTDOWN",
		"SYSTEM FLUSH LOGS", "KILL QUERY WHERE 1", "OPTIMIZE TABLE point FINAL", "ALTER TABLE point DELETE WHERE 1", "RENAME TABLE point TO x",
		"CREATE FUNCTION f AS x -> x", "CREATE USER x", "GRANT ALL ON *.* TO default", "SHOW CREATE TABLE point", "SHOW GRANTS", "EXISTS TABLE point",
		"CHECK TABLE point", "DETACH TABLE point", "EXCHANGE TABLES point AND meta", "INSERT INTO point SELECT * FROM point",
		"INSERT INTO FUNCTION file('/tmp/ingero-echo-attack') SELECT 1", "SELECT 1 PARALLEL WITH SELECT 2", "EXECUTE AS x SELECT 1",
		"CREATE TEMPORARY TABLE x (a Int8)", "DROP DATABASE default", "BACKUP DATABASE default TO Disk('a', 'b')", "WATCH events",
		"UNDROP TABLE point", "MOVE USER x TO y", "SELECT {p:String}", "SELECT COLUMNS('.*') FROM events", "SELECT * APPLY(sum) FROM events",
		"SELECT * APPLY(x -> file(x)) FROM events", "SELECT @@version", "DELETE FROM events WHERE 1", "SELECT * FROM events WHERE x IN (SELECT * FROM meta)",
	},
	expensive: []string{
		"SELECT length(t) FROM (SELECT s || s || s || s AS t FROM (SELECT r || r || r || r AS s FROM (SELECT q || q || q || q AS r FROM " +
			"(SELECT p || p || p || p AS q FROM (SELECT o || o || o || o AS p FROM (SELECT a.attrs_json || b.attrs_json || a.attrs_json AS o " +
			"FROM events a, events b))))))",
	},
}
