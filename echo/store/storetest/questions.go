package storetest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// The questions of the published proof, verbatim.
const (
	perNode = `SELECT cluster_id, node_id, COUNT(*) AS events
FROM events
GROUP BY cluster_id, node_id
ORDER BY node_id;`
	chains = `SELECT COUNT(DISTINCT json_extract_string(attrs_json, '$.causal_chain_id')) AS chains
FROM events
WHERE attrs_json LIKE '%causal_chain_id%';`
	stragglers = `SELECT node_id, COUNT(*) AS straggler_events
FROM events
WHERE value_double < 0.40
GROUP BY node_id;`
	medians = `SELECT node_id,
       quantile_cont(value_double, 0.5)  AS median_health,
       quantile_cont(value_double, 0.95) AS p95_health
FROM events
GROUP BY node_id;`
)

func testPublished(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, Published())
	ask(t, s, perNode, "demo-cluster|node-a100|1000", "demo-cluster|node-h100|1000")
	ask(t, s, chains, "80")
	ask(t, s, "select * from ("+strings.TrimSuffix(stragglers, ";")+") order by 1", "node-a100|9", "node-h100|9")
	r, err := s.Query(t.Context(), stragglers, limits())
	if err != nil || strings.Join(r.Columns, " ") != "node_id straggler_events" || len(r.Rows) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = s.Query(t.Context(), medians, limits())
	if err != nil || len(r.Rows) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, values := range r.Rows {
		if median, ok := values[1].(float64); !ok || median < 0.91 || median > 0.92 {
			t.Errorf("%v: the median is none of the values in the middle", values)
		}
	}
	ask(t, s, "select rank, count(*) from events group by rank order by rank",
		"0|250", "1|250", "2|250", "3|250", "4|250", "5|250", "6|250", "7|250")
}

func testViews(t *testing.T, with suite) {
	s := opened(t, with)
	n1 := func(kind row.Kind, metric, attrs string) *row.Series {
		return row.NewSeries(row.Series{
			Kind: kind, Cluster: "east", Node: "n1", Rank: 5, NRanks: 8, Metric: metric, Attrs: attrs, Resource: `{}`,
		})
	}
	log := func(event, attrs string, i int64) row.Row {
		return row.Row{
			Series: n1(row.Log, "", attrs), Key: uint64(i), Timestamp: at(i), Received: at(i),
			Record: &row.Record{Event: event, Severity: "HIGH", Body: "words"},
		}
	}
	gauge := func(metric string, v float64, i int64) row.Row {
		return row.Row{
			Series: n1(row.Gauge, metric, `{"ingero.node.state":"active"}`), Key: uint64(i), Timestamp: at(100), Received: at(101),
			Double: v, HasDouble: true,
		}
	}
	write(t, s, []row.Row{
		log("ingero.finding", `{"ingero.cause.kind":"cpu_contention","ingero.cause.process":"hog","ingero.cause.pid":7,`+
			`"ingero.finding.lost_pct":12.5,"ingero.finding.id":"c1","process.executable.name":"train"}`, 1),
		log("straggler_state", `{"cause":{"kind":"block_io","culprit":"the disk","ms_per_step":6.4},"event_id":"x","excess":0.5,"score":0.66}`, 2),
		log("straggler_resolved", `{"event_id":"x","cause.kind":"block_io"}`, 3),
		log("hang", `{"event_id":"y","resolved":true}`, 4),
		log("other", `{}`, 5),
		{
			Series: n1(row.Span, "", late),
			Key:    6, Timestamp: at(6), Received: at(7), Record: &row.Record{Duration: 9},
		},
		{Series: bare(row.Span, ""), Key: 7, Timestamp: at(7), Received: at(7), Record: &row.Record{}},
		gauge("ingero.node.health_score", 0.5, 8), gauge("ingero.node.cpu_availability", 0.25, 9),
		gauge("ingero.node.straggler_event", 1, 10), gauge("other", 3, 11),
	})
	ask(t, s, "select cluster_id, node_id, rank, severity, summary, cause, cause_process, cause_pid, lost_pct, finding_id, effect_process from findings",
		"east|n1|5|HIGH|words|cpu_contention|hog|7|12.5|c1|train")
	ask(t, s, "select type, event_id, rank, nranks, resolved, cause, culprit, cause_ms_per_step, excess, score from stragglers order by timestamp_ns",
		"straggler_state|x|5|8|false|block_io|the disk|6.4|0.5|0.66",
		"straggler_resolved|x|5|8|true|block_io|<nil>|<nil>|<nil>|<nil>",
		"hang|y|5|8|true|<nil>|<nil>|<nil>|<nil>|<nil>")
	ask(t, s, "select op_type, comm_id_hash, seq, rank, exit_ns - enter_ns from collectives", "ncclAllReduce|00ff|41|5|9")
	ask(t, s, "select usual_own_ms, late_ms from collectives", "90.5|290")
	ask(t, s, "select why, one_of, own_ms, wait_ms, pid, finding_ids, node_address from collectives",
		`late|1|380.5|<nil>|7|["c1","c2"]|<nil>`)
	ask(t, s, `select before_ms, before_runq_ms, before_throttled_ms, before_futex_ms, before_block_io_ms, before_fault_ms,
		before_network_ms, before_pipe_ms, before_poll_ms, before_sleep_ms, before_ioctl_ms, before_other_ms
		from collectives`, "380.5|290.25|<nil>|3|1.5|2|5|7|8|9|4|6")
	ask(t, s, "select max(before_runq_ms) * 2, sum(before_fault_ms + before_sleep_ms) from collectives", "580.5|11")
	ask(t, s, "select node_id, rank, state, health_score, cpu_availability, throughput_ratio, straggler, suspect from health",
		"n1|5|active|0.5|0.25|<nil>|true|<nil>")
}

// late are the attributes of a collective that a rank entered late.
const late = `{"ingero.chain_ids":["c1","c2"],"ingero.collective.before.block_io_ms":1.5,` +
	`"ingero.collective.before.fault_ms":2,"ingero.collective.before.futex_ms":3,` +
	`"ingero.collective.before.ioctl_ms":4,"ingero.collective.before.network_ms":5,` +
	`"ingero.collective.before.other_ms":6,"ingero.collective.before.pipe_ms":7,` +
	`"ingero.collective.before.poll_ms":8,"ingero.collective.before.runq_ms":290.25,` +
	`"ingero.collective.before.sleep_ms":9,"ingero.collective.before_ms":380.5,` +
	`"ingero.collective.one_of":1,"ingero.collective.own_ms":380.5,"ingero.collective.usual_own_ms":90.5,` +
	`"ingero.collective.why":"late",` +
	`"nccl.comm_id_hash":"00ff","nccl.op_type":"ncclAllReduce","nccl.seq":41,"process.pid":7}`

// A node may send its gauges as integers, if they are.
func testIntegers(t *testing.T, with suite) {
	s := opened(t, with)
	var rows []row.Row
	for i, metric := range []string{
		"ingero.health.score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
		"ingero.node.cpu_availability", "ingero.node.degradation_warning", "ingero.node.straggler_event",
	} {
		rows = append(rows, row.Row{
			Series: bare(row.Gauge, metric), Key: uint64(i), Timestamp: at(1), Received: at(2), Int: int64(i), HasInt: true,
		})
	}
	fraction := row.Row{
		Series: bare(row.Gauge, "ingero.node.health_score"), Key: 7, Timestamp: at(1), Received: at(3), Double: 0.5, HasDouble: true,
	}
	write(t, s, rows)
	const question = `select health_score, throughput_ratio, compute_efficiency, memory_headroom, cpu_availability, suspect,
		straggler, health_score / 2, received_ns - timestamp_ns from health`
	ask(t, s, question, "0|1|2|3|4|true|true|0|1000000000")
	write(t, s, []row.Row{fraction})
	ask(t, s, question, "0.5|1|2|3|4|true|true|0.25|2000000000")
}

func testHistograms(t *testing.T, with suite) {
	s := opened(t, with)
	nan := math.NaN()
	d := &row.Distribution{Count: 4, Sum: 10, Min: nan, Max: 8, Buckets: []row.Bucket{
		{Lower: math.Inf(-1), Upper: 1, Count: 1}, {Lower: 1, Upper: 4, Count: 2}, {Lower: 4, Upper: math.Inf(1), Count: 1},
	}}
	d.Estimate()
	write(t, s, []row.Row{{
		Series: bare(row.ExponentialHistogram, "h"), Key: 1, Timestamp: at(1), Received: at(1), Distribution: d,
	}})
	ask(t, s, "select count, sum, min, max, p50, value, value_double from events", "4|10|<nil>|8|2|2.5|<nil>")
	ask(t, s, with.dialect.buckets, "3")
	ask(t, s, "select bucket_lower, bucket_upper, bucket_count from events", "[-Inf 1 4]|[1 4 +Inf]|[1 2 1]")
	write(t, s, []row.Row{{ // nothing was measured yet
		Series: bare(row.Histogram, "h"), Key: 2, Timestamp: at(2), Received: at(2),
		Distribution: &row.Distribution{Min: nan, Max: nan, P50: nan, P90: nan, P99: nan},
	}})
	ask(t, s, "select count, sum, value from events order by timestamp_ns", "4|10|2.5", "0|0|<nil>")
	if _, err := s.Retain(t.Context(), at(1000), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "select sum(count), sum(sum), max(max) from minutes", "1|2.5|2.5")
}

// A store may compute minutes only when Retain is called.
func testMinutes(t *testing.T, with suite) {
	s := opened(t, with)
	keep := func() {
		if _, err := s.Retain(t.Context(), at(1000), store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	point := func(second int64, v float64) row.Row {
		r := row.Row{
			Series: row.NewSeries(row.Series{
				Kind: row.Gauge, Cluster: "east", Node: "n1", Rank: 5, Metric: "m", Attrs: `{}`, Resource: `{}`,
			}),
			Timestamp: at(40 + second), Received: at(40 + second), Double: v, HasDouble: true,
		}
		r.Key = row.Key(&r, 0)
		return r
	}
	keep() // of nothing
	write(t, s, []row.Row{
		point(0, 1), point(1, 2), point(59, 9), point(60, 5),
		{Series: bare(row.Log, ""), Key: 1, Timestamp: at(21), Received: at(21), Record: &row.Record{}},
		{Series: bare(row.Sum, "i"), Key: 2, Timestamp: at(30), Received: at(30), Int: 7, HasInt: true},
	})
	const question = "select cluster_id, node_id, rank, metric_name, count, sum, min, max, floor(p50 + 0.5) from minutes where p99 >= p50 " +
		"order by metric_name, minute_ns"
	keep()
	ask(t, s, question, "||<nil>|i|1|7|7|7|7", "east|n1|5|m|3|12|1|9|2", "east|n1|5|m|1|5|5|5|5")
	late := point(2, 2)
	late.Received = at(500)
	write(t, s, []row.Row{late, point(1, 2)})
	keep()
	keep()
	ask(t, s, question, "||<nil>|i|1|7|7|7|7", "east|n1|5|m|4|14|1|9|2", "east|n1|5|m|1|5|5|5|5")
	ask(t, s, "select min(minute_ns), max(minute_ns) from minutes where metric_name = 'm'", fmt.Sprintf("%d|%d", at(40), at(100)))
}

func testAllowed(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, gauges(100, 5))
	for _, sql := range append(allowed, with.dialect.allowed...) {
		testOneAllowed(t, s, sql)
	}
	for _, sql := range []string{"select", "select nothing from events", "selekt 1", "", "select 1 +", "select sqrt('x')", "select (("} {
		_, err := s.Query(t.Context(), sql, limits())
		if !errors.As(err, new(*store.StatementError)) && !errors.As(err, new(*store.RefusedError)) {
			t.Errorf("%q: %v; want what is wrong with it", sql, err)
		}
	}
}

func testOneAllowed(t *testing.T, s store.Store, sql string) {
	t.Helper()
	name := sql[:min(len(sql), 200)]
	if err := s.Check(t.Context(), sql); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := s.Query(t.Context(), sql, limits()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// allowed are statements of all dialects.
var allowed = []string{
	"select 1", "select 1;", " select 1 -- words", "select 1; -- words", "/* words */ select 1",
	"with a as (select rank, count(*) as n from events group by rank), b as (select * from a) select * from b join a using (rank)",
	"select rank, value_int, lag(value_int) over (partition by rank order by timestamp_ns) from events limit 5",
	"select case when rank > 3 then 'high' else 'low' end as half, avg(value) from events group by half having count(*) > 1",
	"select distinct on (node_id) node_id, rank from events order by node_id, timestamp_ns desc",
	"select count(*) filter (where rank = 1), approx_quantile(value, 0.99), arg_max(rank, value) from events",
	"select a.rank from events a where exists (select 1 from events b where b.rank = a.rank and b.value_int > 90) limit 1",
	"select rank from events union all select rank from events intersect select 1 order by 1 limit 2",
	"select * from (values (1, 'a'), (2, 'b')) v(x, y)",
	"select now() is not null, now() + interval '1 hour' > now(), date_trunc('hour', now()), timestamp_ns between 1 and 2, -value, not true from events limit 1",
	"select sum(value) over w from events window w as (order by timestamp_ns rows between 3 preceding and current row) limit 2",
	"select unnest([1, 2, 3]) as x",
	"select node_id, count(*) from events group by rollup (node_id) order by all",
	"select percent_rank() over (order by value), ntile(4) over (order by value) from events limit 1",
	"select * from findings, stragglers, collectives, health, minutes", "select current_user",
}

// attacks would read files or settings, change something, or take unlimited memory. All are refused.
var attacks = []string{
	// Known attacks on the engine.
	"DELETE FROM point", "SELECT 1; DELETE FROM point", "DELETE FROM point; SELECT 1", "SELECT 1; SELECT 2",
	"COMMIT; DELETE FROM point", "EXPLAIN ANALYZE DELETE FROM point", "EXPLAIN SELECT 1", "PRAGMA database_list",
	"PRAGMA database_size", "SELECT repeat('x', 2000000000)", "SELECT * FROM read_csv('/etc/passwd')",
	"SELECT * FROM read_parquet('/etc/passwd')", "SELECT * FROM READ_TEXT('/etc/passwd')", "SELECT * FROM sniff_csv('/etc/passwd')",
	"SELECT * FROM '/etc/passwd'", "SELECT * FROM \"/etc/passwd.csv\"", "SELECT * FROM glob('/*')",
	"COPY events TO '/tmp/ingero-echo-attack'", "ATTACH '/tmp/ingero-echo-attack' AS x", "ATTACH ':memory:' AS x", "INSTALL httpfs",
	"LOAD httpfs", "EXPORT DATABASE '/tmp/ingero-echo-attack'", "SET memory_limit = '100GB'", "RESET memory_limit",
	"CREATE TABLE x (a int)", "CREATE VIEW x AS SELECT 1", "DROP TABLE point", "DROP VIEW events", "ALTER TABLE point ADD COLUMN x int",
	"UPDATE point SET rank = 0", "INSERT INTO meta VALUES (9)", "TRUNCATE point", "SELECT nextval('s')",
	"SELECT * FROM duckdb_settings()", "SELECT * FROM duckdb_tables()", "SELECT * FROM duckdb_secrets()",
	"SELECT * FROM query('select 1')", "PIVOT events ON rank USING count(*)", "SELECT * FROM 's3://bucket/file.parquet'",
	"SELECT * FROM 'http://127.0.0.1/x.csv'",
	// Others.
	"WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
	"WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t",
	"SELECT * FROM range(1000000000000)", "SELECT unnest(generate_series(1, 1000000000000))", "SELECT range(1000000000)",
	"SELECT lpad('x', 2000000000, 'y')", "SELECT rpad(node_id, 2000000000, 'y') FROM events", "SELECT format('{:2000000000d}', 1)",
	"SELECT printf('%2000000000d', 1)", "SELECT replace(attrs_json, '1', repeat('y', 100000)) FROM events",
	"SELECT length(replace(replace(attrs_json, '', '1111'), '1', attrs_json)) FROM events",
	"SELECT string_agg(a.attrs_json, ',') FROM events a, events b", "SELECT list(a.attrs_json) FROM events a, events b",
	"SELECT array_agg(a.attrs_json) FROM events a, events b", "SELECT histogram(attrs_json) FROM events",
	"SELECT getenv('HOME')", "SELECT current_setting('memory_limit')", "SELECT version()",
	"SELECT * FROM information_schema.tables", "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM sqlite_master",
	"SELECT * FROM main.point", "SELECT * FROM point", "SELECT * FROM meta", "SELECT * FROM main.events",
	"SELECT * FROM (WITH point AS (SELECT 1) SELECT * FROM point), point",
	"WITH a AS (SELECT * FROM meta), meta AS (SELECT 1) SELECT * FROM a",
	"SELECT (SELECT content FROM read_text('/etc/passwd')) FROM events",
	"SELECT 1 WHERE EXISTS (SELECT 1 FROM read_blob('/etc/passwd'))", "SELECT rank FROM events ORDER BY (SELECT count(*) FROM glob('/*'))",
	"SELECT rank FROM events LIMIT (SELECT count(*) FROM glob('/*'))",
	"SELECT CASE WHEN true THEN (SELECT count(*) FROM read_text('/etc/passwd')) END",
	"SELECT sum(rank) OVER (ORDER BY (SELECT count(*) FROM glob('/*'))) FROM events",
	"SELECT sum(rank) FILTER (WHERE (SELECT count(*) FROM glob('/*')) > 0) FROM events",
	"WITH x AS (DELETE FROM point RETURNING *) SELECT * FROM x", "SELECT 1 /* */; DROP TABLE point --",
	"PREPARE p AS SELECT 1", "EXECUTE p", "CALL pragma_version()", "SELECT list_transform([1, 2], x -> x + 1)",
	"SELECT list_transform([1, 2], lambda x: x + 1)", "SELECT [x + 1 FOR x IN [1, 2]]",
	"SELECT * FROM json_execute_serialized_sql('{}')", "SELECT json_serialize_sql('select 1')", "SELECT * FROM query_table('point')",
	"VACUUM", "CHECKPOINT", "FORCE CHECKPOINT", "USE memory", "BEGIN TRANSACTION", "ROLLBACK", "SUMMARIZE events", "DESCRIBE events",
	"SHOW TABLES", "SHOW ALL TABLES", "FROM (DESCRIBE events)", "FROM (SHOW TABLES)", "CREATE MACRO f(x) AS x", "UPDATE EXTENSIONS",
	"SELECT ?", "SELECT write_log('x')", "SELECT * FROM checkpoint()", "SELECT system.main.getenv('HOME')",
	"SELECT * FROM parquet_metadata('/etc/passwd')", "SELECT * FROM json_each('[1]')", "SELECT to_json(e) FROM events e",
	"SELECT json_group_array(attrs_json) FROM events", "SELECT bitstring('1', 2000000000)", "SELECT array_to_string([1, 2], repeat('x', 9))",
	"SELECT set_bit(bitstring('1', 2000000000), 1, 1)", "SELECT string_split(attrs_json, '') FROM events",
	"UNPIVOT events ON rank INTO NAME a VALUE b", "SELECT COLUMNS(x -> x LIKE 'r%') FROM events",
	"SELECT row(row(attrs_json)::varchar)::varchar FROM events",
	"SELECT json_array(json_array(attrs_json)::varchar) FROM events",
	// The Kelvin sign and the long s: to the engine these names differ from those with k and s.
	"WITH \"duc\u212Adb_databases\" AS (SELECT 1) SELECT * FROM duckdb_databases",
	"WITH \"\u017Fqlite_master\" AS (SELECT 1) SELECT * FROM sqlite_master",
	"SELECT '" + strings.Repeat("x", 20_000) + "'",
	"SELECT " + strings.Repeat("-(", 2000) + "rank" + strings.Repeat(")", 2000) + " FROM events",
}

// attackFile is the file that attacks would make.
const attackFile = "/tmp/ingero-echo-attack"

const (
	// slack is by how much a question may exceed its time on a busy machine until it has ended. Without a limit those
	// that are expensive would take hours.
	slack = 20 * time.Second
	// mostMemory is how much memory this process may have meanwhile, or by how much a server may grow, in bytes.
	mostMemory = 1_000_000_000
)

func testAttacks(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, gauges(20_000, 5))
	peaks := watchMemory(t, with.dialect.Engines)
	dir := t.TempDir() // all processes may write here
	for _, sql := range append(attacks, with.dialect.attacks...) {
		sql = strings.ReplaceAll(sql, attackFile, filepath.Join(dir, "attack"))
		testAttack(t, s, sql)
	}
	made, err := os.ReadDir(dir)
	if err != nil || len(made) > 0 {
		t.Errorf("attacks have made %v, %v", made, err)
	}
	l := limits()
	l.Time = 2 * time.Second
	for _, sql := range append(expensive, with.dialect.expensive...) {
		begin := time.Now()
		_, err := s.Query(t.Context(), sql, l)
		took := time.Since(begin)
		t.Logf("%v: %.60s: %v", took, sql, err)
		switch {
		case err == nil:
			t.Errorf("%s: it ended by itself; it should be one that cannot", sql)
		case !errors.As(err, new(*store.LimitError)):
			t.Errorf("%s: %v; want a LimitError", sql, err)
		case took > l.Time+slack:
			t.Errorf("%s: it took %v, of %v", sql, took, l.Time)
		}
	}
	peaks(mostMemory)
	ask(t, s, "select count(*), sum(value_int), min(rank), max(rank) from events", "20000|199990000|0|7")
}

// testAttack tries a statement that is refused.
func testAttack(t *testing.T, s store.Store, sql string) {
	t.Helper()
	name := sql[:min(len(sql), 100)]
	begin := time.Now()
	err := s.Check(t.Context(), sql)
	if !errors.As(err, new(*store.RefusedError)) && !errors.As(err, new(*store.StatementError)) {
		t.Errorf("%s: %v; want it refused", name, err)
	}
	l := limits()
	if _, again := s.Query(t.Context(), sql, l); fmt.Sprint(again) != fmt.Sprint(err) {
		t.Errorf("%s: %v; at the check: %v", name, again, err)
	}
	if took := time.Since(begin); took > l.Time+slack {
		t.Errorf("%s: it was refused after %v", name, took)
	}
}

// expensive statements are allowed, and end at a limit.
var expensive = []string{
	"SELECT count(*) FROM events a, events b, events c WHERE a.rank + b.rank + c.rank = -1",
	"SELECT a.value_int * b.value_int AS x FROM events a, events b ORDER BY x DESC, a.attrs_json || b.attrs_json",
	"SELECT quantile_cont(a.value_int * b.value_int, 0.5) FROM events a, events b",
	"SELECT count(DISTINCT a.value_int * 100000 + b.value_int) FROM events a, events b",
	"SELECT median(length(a.attrs_json || b.attrs_json) + a.value_int) FROM events a, events b",
	"SELECT max(x) FROM (SELECT row_number() OVER (PARTITION BY a.rank ORDER BY b.value_int, a.attrs_json) AS x FROM events a, events b)",
	"SELECT a.value_int, b.value_int, count(*) FROM events a, events b GROUP BY ALL HAVING count(*) > 1",
}
