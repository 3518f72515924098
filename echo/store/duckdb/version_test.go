package duckdb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
)

// change runs statements on a file, bypassing the store.
func change(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// oldRows returns a row of each kind in files of version 1: two points, a histogram, a log record, and a span.
func oldRows(second int64) []row.Row {
	at := row.SecondBegins(second)
	series := func(kind row.Kind, metric, attrs string) *row.Series {
		return row.NewSeries(row.Series{
			Kind: kind, Cluster: "east", Node: "n1", Rank: 5, NRanks: 8, Metric: metric, Attrs: attrs, Resource: `{"host.name":"n1"}`,
		})
	}
	rows := []row.Row{
		{Series: series(row.Gauge, "ingero.node.health_score", `{"ingero.node.state":"active"}`), Double: 0.5, HasDouble: true},
		{Series: series(row.Sum, "launches", `{}`), Start: at - 5, Int: 7, HasInt: true},
		{Series: series(row.Histogram, "h", `{}`), Distribution: &row.Distribution{Count: 4, Sum: 10, Min: 1, Max: 4, P50: 2, P90: 3, P99: 4}},
		{
			Series: series(row.Log, "", `{"ingero.finding.id":"c1"}`),
			Record: &row.Record{Event: "ingero.finding", Severity: "HIGH", SeverityNumber: 17, Body: "it's late"},
		},
		{Series: series(row.Span, "", `{"nccl.op_type":"ncclAllReduce","nccl.seq":41}`), Record: &row.Record{Event: "op", Duration: 9}},
	}
	for i := range rows {
		r := &rows[i]
		r.Timestamp, r.Received = at+int64(i), at+100
		r.Key = row.Key(r, uint64(i))
	}
	return rows
}

// inserts returns statements that write rows as version 1 does.
func inserts(rows []row.Row) []string {
	list := make([]string, len(rows))
	for i, r := range rows {
		columns := []string{"timestamp_ns", "received_ns", "cluster_id", "node_id", "rank", "nranks", "kind", "attrs_json", "resource_json", "key"}
		values := []any{r.Timestamp, r.Received, "'east'", "'n1'", 5, 8, "'" + r.Kind.String() + "'", "'" + r.Attrs + "'", "'" + r.Resource + "'", r.Key}
		add := func(name string, value any) { columns, values = append(columns, name), append(values, value) }
		if r.Metric != "" {
			add("metric_name", "'"+r.Metric+"'")
		}
		if r.Start != 0 {
			add("start_ns", r.Start)
		}
		if r.HasDouble {
			add("value_double", r.Double)
		}
		if r.HasInt {
			add("value_int", r.Int)
		}
		if d := r.Distribution; d != nil {
			for name, v := range map[string]any{"count": d.Count, "sum": d.Sum, "min": d.Min, "max": d.Max, "p50": d.P50, "p90": d.P90, "p99": d.P99} {
				add(name, v)
			}
		}
		if t := r.Record; t != nil {
			add("event_name", "'"+t.Event+"'")
			if t.Body != "" {
				add("severity", "'"+t.Severity+"'")
				add("severity_number", t.SeverityNumber)
				add("body", "'"+strings.ReplaceAll(t.Body, "'", "''")+"'")
			}
			if r.Kind == row.Span {
				add("duration_ns", t.Duration)
			}
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
		}
		list[i] = fmt.Sprintf("insert into point (%s) values (%s)", strings.Join(columns, ", "), strings.Join(texts, ", "))
	}
	return list
}

// version1 makes a file of version 1 with rows.
func version1(t *testing.T, rows []row.Row) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "echo.db")
	tables, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	change(t, path, append([]string{string(tables)}, inserts(rows)...)...)
	return path
}

func answer(t *testing.T, s *duckdb.Store, question string) [][]any {
	t.Helper()
	r, err := s.Query(t.Context(), question, store.Limits{Time: time.Minute, Rows: 100, Bytes: 1 << 20})
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return r.Rows
}

// All views show the rows of a file of version 1 as those of a new file, together with later rows.
func TestAFileOfVersion1HasAllItsRows(t *testing.T) {
	path := version1(t, oldRows(60))
	other := open(t, filepath.Join(t.TempDir(), "new.db"), duckdb.Options{})
	write := func(s *duckdb.Store, rows []row.Row, want store.Written) {
		t.Helper()
		if w, err := s.Write(t.Context(), rows); err != nil || w != want {
			t.Errorf("%+v, %v; want %+v", w, err, want)
		}
	}
	write(other, oldRows(60), store.Written{Rows: 5})
	questions := []string{
		"select * from events order by timestamp_ns, metric_name", "select * from findings order by timestamp_ns",
		"select * from collectives order by enter_ns", "select * from health order by timestamp_ns",
		"select * from minutes order by minute_ns, metric_name",
	}
	compare := func(s *duckdb.Store) {
		t.Helper()
		for _, q := range questions {
			got, want := answer(t, s, q), answer(t, other, q)
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("%s: %d rows (-new file +that of version 1):\n%s", q, len(got), diff)
			}
		}
	}
	for range 2 { // the second time it already has this version
		s, err := duckdb.Open(t.Context(), path, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		compare(s)
		write(s, oldRows(60), store.Written{Duplicates: 5}) // sent to the old version, and sent again
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path, duckdb.Options{})
	write(s, oldRows(61), store.Written{Rows: 5})
	write(other, oldRows(61), store.Written{Rows: 5})
	compare(s)
	keep := store.Retention{Age: 10 * time.Second}
	if n, err := s.Retain(t.Context(), row.SecondBegins(71), keep); err != nil || n != 5 {
		t.Errorf("%d rows are deleted, %v; want those of version 1", n, err)
	}
	if _, err := other.Retain(t.Context(), row.SecondBegins(71), keep); err != nil {
		t.Fatal(err)
	}
	compare(s)
}

func TestTablesOfANewerVersionAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	s, err := duckdb.Open(t.Context(), path, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, path, fmt.Sprintf("insert into meta values (%d)", duckdb.Version+1))
	_, err = duckdb.Open(t.Context(), path, duckdb.Options{})
	if want := fmt.Sprintf("version %d of its tables; this one knows %d", duckdb.Version+1, duckdb.Version); !errors.As(err, new(*duckdb.NewerError)) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// A series is in a file once, whatever is in memory, from its second point on, as long as it has points.
func TestSeriesAreKeptOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	same := func(i int) string { return fmt.Sprintf(`{"i":%d}`, i) }
	for round, inMemory := range []int{1000, 10, 1, 1000} {
		s, err := duckdb.Open(t.Context(), path, duckdb.Options{Series: inMemory})
		if err != nil {
			t.Fatal(err)
		}
		check := func(want map[string]int64) {
			t.Helper()
			for table, want := range want {
				if n, err := s.Count(t.Context(), table); err != nil || n != want {
					t.Errorf("round %d: %d rows of %s, %v; want %d", round, n, table, err, want)
				}
			}
		}
		first := int64(100 + 10*round)
		for second := range int64(3) {
			rows := append(gaugesWith(100, first+second, same), gauges(2, first+second)...) // the last ones have no others
			if _, err := s.Write(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
		}
		if round == 0 {
			check(map[string]int64{"series": 100, "point": 200, "record": 106, "events": 306})
		} else {
			check(map[string]int64{"series": 100, "point": 400, "record": 8, "events": 408})
		}
		// Deletes all but the last second.
		if _, err := s.Retain(t.Context(), row.SecondBegins(first+2), store.Retention{Age: 1}); err != nil {
			t.Fatal(err)
		}
		check(map[string]int64{"series": 100, "point": 100, "record": 2, "events": 102})
		if round == 3 {
			if _, err := s.Retain(t.Context(), row.SecondBegins(first+3), store.Retention{Age: 1}); err != nil {
				t.Fatal(err)
			}
			check(map[string]int64{"series": 0, "point": 0, "record": 0, "events": 0})
			for second := range int64(2) { // again
				if _, err := s.Write(t.Context(), gaugesWith(100, first+4+second, same)); err != nil {
					t.Fatal(err)
				}
			}
			check(map[string]int64{"series": 100, "point": 100, "record": 100, "events": 200})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
