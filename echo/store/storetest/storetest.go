// Package storetest has the tests that every store.Store passes.
package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// Opener opens the store in a folder, or creates it. The test closes it.
type Opener func(t *testing.T, dir string) store.Store

// suite is what the tests need of a store.
type suite struct {
	open    Opener
	dialect Dialect
}

// Run runs all tests of a store with a dialect.
func Run(t *testing.T, d Dialect, open Opener) {
	t.Helper()
	for _, one := range []struct {
		name string
		test func(*testing.T, suite)
	}{
		{"all of a row is kept", testColumns},
		{"what is not known is NULL", testUnknown},
		{"a row that comes twice is kept once", testDuplicates},
		{"a row of any time that comes again is known", testLateDuplicates},
		{"rows are there after it was closed", testReopen},
		{"the published questions", testPublished},
		{"views", testViews},
		{"gauges that are integers", testIntegers},
		{"quantiles of histograms", testHistograms},
		{"minutes", testMinutes},
		{"attacks", testAttacks},
		{"questions that are allowed", testAllowed},
		{"limits of a question", testLimits},
		{"old rows are deleted by age", testAge},
		{"old rows are deleted by size", func(t *testing.T, with suite) { testSize(t, with, texts, 20_000) }},
		{"old points are deleted by size", func(t *testing.T, with suite) { testSize(t, with, points, 60_000) }},
		{"many write and ask at once", testConcurrent},
		{"a closed store", testClosed},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, suite{open, d}) })
	}
}

// limits returns limits that suffice for the tests.
func limits() store.Limits { return store.Limits{Time: 30 * time.Second, Rows: 1000, Bytes: 1 << 20} }

func opened(t *testing.T, with suite) store.Store {
	t.Helper()
	s := with.open(t, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func write(t *testing.T, s store.Store, rows []row.Row) store.Written {
	t.Helper()
	w, err := s.Write(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// bare returns a series of a kind with hardly any fields.
func bare(kind row.Kind, metric string) *row.Series {
	return row.NewSeries(row.Series{Kind: kind, Rank: row.None, Metric: metric, Attrs: `{}`, Resource: `{}`})
}

// ask compares the rows of a question's answer; the values of each are joined by bars.
func ask(t *testing.T, s store.Store, sql string, want ...string) {
	t.Helper()
	got, err := s.Query(t.Context(), sql, limits())
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", sql, diff)
	}
}

func lines(r *store.Result) []string {
	var list []string
	for _, values := range r.Rows {
		var texts []string
		for _, v := range values {
			texts = append(texts, fmt.Sprint(v))
		}
		list = append(list, strings.Join(texts, "|"))
	}
	return list
}

func testColumns(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, []row.Row{
		{
			Series: row.NewSeries(row.Series{
				Kind: row.Sum, Cluster: "east", Node: "n1", Rank: 5, NRanks: 8, Metric: "m", Unit: "By", Temporality: "cumulative",
				Attrs: `{"a":"ü"}`, Resource: `{"host.name":"n1"}`, Scope: "s",
			}),
			Key: 1, Timestamp: at(1), Received: at(2), Start: at(0), Double: 1.5, HasDouble: true,
		},
		{
			Series: row.NewSeries(row.Series{Kind: row.Gauge, Rank: 0, Metric: "i", Attrs: `{}`, Resource: `{}`}),
			Key:    2, Timestamp: at(2), Received: at(2), Int: -1 << 63, HasInt: true,
		},
		{
			Series: bare(row.Log, ""), Key: 3, Timestamp: at(3), Received: at(3), Record: &row.Record{
				Event: "e", Severity: "HIGH", SeverityNumber: 17, Body: "two\nlines", Trace: "0102", Span: "03",
			},
		},
		{
			Series: bare(row.Span, ""), Key: 4, Timestamp: at(4), Received: at(4),
			Record: &row.Record{Event: "op", Duration: 7, Trace: "0102", Span: "04", Parent: "03"},
		},
		{Series: bare(row.Gauge, "none"), Key: 5, Timestamp: at(5), Received: at(5)},
	})
	ask(t, s, `select timestamp_ns, received_ns, start_ns, cluster_id, node_id, rank, nranks, kind, metric_name, unit, temporality,
		value_double, value, attrs_json, attrs, resource_json, scope from events where metric_name = 'm'`,
		fmt.Sprintf("%d|%d|%d|east|n1|5|8|sum|m|By|cumulative|1.5|1.5|{\"a\":\"ü\"}|{\"a\":\"ü\"}|{\"host.name\":\"n1\"}|s", at(1), at(2), at(0)))
	ask(t, s, `select kind, rank, value_int, value from events where metric_name = 'i'`,
		"gauge|0|-9223372036854775808|-9.223372036854776e+18")
	ask(t, s, `select event_name, severity, severity_number, body, trace_id, span_id from events where kind = 'log'`,
		"e|HIGH|17|two\nlines|0102|03")
	ask(t, s, `select event_name, duration_ns, trace_id, span_id, parent_span_id from events where kind = 'span'`,
		"op|7|0102|04|03")
	ask(t, s, `select kind, rank, start_ns, value_double, value_int, value, event_name, duration_ns from events where metric_name = 'none'`,
		"gauge|<nil>|<nil>|<nil>|<nil>|<nil>|<nil>|<nil>")
	ask(t, s, "select count(*), count(metric_name), count(value) from events", "5|3|2")
}

func testUnknown(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, []row.Row{{Series: bare(row.Log, ""), Key: 1, Timestamp: at(1), Received: at(1), Record: &row.Record{}}})
	ask(t, s, `select count(*) from events where cluster_id = '' and node_id = ''`, "1")
	for _, column := range []string{
		"start_ns", "rank", "nranks", "metric_name", "unit", "temporality", "value_double", "value_int", "value", "event_name",
		"severity", "severity_number", "body", "trace_id", "span_id", "parent_span_id", "duration_ns", "scope", "count", "sum",
		"min", "max", "p50", "p90", "p99",
	} {
		ask(t, s, fmt.Sprintf("select count(*) from events where %s is null", column), "1")
	}
	for _, list := range []string{"bucket_lower", "bucket_upper", "bucket_count"} { // NULL or empty
		ask(t, s, fmt.Sprintf("select count(*) from events where coalesce(length(%s), 0) = 0", list), "1")
	}
}

func testDuplicates(t *testing.T, with suite) {
	s := opened(t, with)
	rows := gauges(100, 7)
	twice := append(rows[:50:50], rows...)
	if w := write(t, s, twice); w != (store.Written{Rows: 100, Duplicates: 50}) {
		t.Errorf("%+v", w)
	}
	again := append(gauges(100, 7), gauges(1, 9)...)
	if w := write(t, s, again); w != (store.Written{Rows: 1, Duplicates: 100}) {
		t.Errorf("%+v", w)
	}
	if w := write(t, s, nil); w != (store.Written{}) {
		t.Errorf("of nothing: %+v", w)
	}
	ask(t, s, "select count(*), count(distinct value_int) from events", "101|100")
}

func testLateDuplicates(t *testing.T, with suite) {
	dir := t.TempDir()
	s := with.open(t, dir)
	var all []row.Row
	for second := range int64(60) { // every other second, and one far away on either side
		all = append(all, gauges(3, 1000+2*second)...)
	}
	all = append(all, gauges(3, 1)...)
	all = append(all, gauges(3, 4_000_000_000)...)
	if w := write(t, s, all); w.Rows != len(all) {
		t.Fatalf("%+v", w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = with.open(t, dir)
	defer s.Close()
	write(t, s, gauges(1, 1001))
	if w := write(t, s, all); w != (store.Written{Duplicates: len(all)}) {
		t.Errorf("after it was opened again: %+v", w)
	}
	if w := write(t, s, all[:3]); w != (store.Written{Duplicates: 3}) {
		t.Errorf("a third time: %+v", w)
	}
}

func testReopen(t *testing.T, with suite) {
	dir := t.TempDir()
	for range 3 {
		s := with.open(t, dir)
		write(t, s, gauges(10, 5))
		ask(t, s, "select count(*) from events", "10")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func testLimits(t *testing.T, with suite) {
	s := opened(t, with)
	write(t, s, gauges(20_000, 5))
	l := limits()
	l.Rows = 10
	r, err := s.Query(t.Context(), "select value_int from events order by value_int", l)
	if err != nil || r.Cut != "rows" || len(r.Rows) != 10 || r.Rows[9][0] != int64(9) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = s.Query(t.Context(), "select value_int from events order by value_int limit 10", l); err != nil || r.Cut != "" {
		t.Errorf("%+v, %v", r, err)
	}
	l = limits()
	l.Bytes = 1000
	if r, err = s.Query(t.Context(), "select attrs_json from events limit 900", l); err != nil || r.Cut != "bytes" || len(r.Rows) > 100 {
		t.Errorf("cut by %q after %d rows, %v", r.Cut, len(r.Rows), err)
	}
	l = limits()
	l.Time = 300 * time.Millisecond
	for _, sql := range []string{
		"select count(*) from events a, events b, events c where a.value_int + b.value_int + c.value_int = -1",
		"select a.value_int + b.value_int + c.value_int as x, count(*) from events a, events b, events c group by x order by 2",
	} {
		if _, err := s.Query(t.Context(), sql, l); !errors.As(err, new(*store.LimitError)) {
			t.Errorf("%s: %v; want a LimitError", sql, err)
		}
	}
	ask(t, s, "select count(*) from events", "20000")
}

func testAge(t *testing.T, with suite) {
	s := opened(t, with)
	old, kept := gauges(10, 5), gauges(10, 50)
	write(t, s, append(old, kept...))
	n, err := s.Retain(t.Context(), row.SecondBegins(60), store.Retention{Age: 20 * time.Second})
	if err != nil || n != 10 {
		t.Errorf("%d rows are deleted, %v; want 10", n, err)
	}
	ask(t, s, "select count(*), min(floor(timestamp_ns / 1000000000)) from events", "10|50")
	if w := write(t, s, gauges(10, 50)); w.Duplicates != 10 {
		t.Errorf("rows that are left are not known: %+v", w)
	}
	st, err := s.Stats(t.Context())
	if err != nil || st.Rows != 10 || st.Oldest != row.SecondBegins(50) || st.Bytes == 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// testSize writes some rows in each of several seconds, enough for several row groups.
func testSize(t *testing.T, with suite, made func(n int, second int64) []row.Row, some int) {
	s := opened(t, with)
	const batches = 15
	for i := range int64(batches) {
		write(t, s, made(some, 100+i))
	}
	all := int64(batches * some)
	if _, err := s.Retain(t.Context(), row.SecondBegins(200), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Stats(t.Context())
	if err != nil || before.Rows != all || before.Bytes == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	n, err := s.Retain(t.Context(), row.SecondBegins(200), store.Retention{Bytes: before.Bytes * 2 / 3})
	if err != nil || n < all/4 || n > all*3/4 {
		t.Fatalf("%d rows are deleted, %v; want about a third of them", n, err)
	}
	after, err := s.Stats(t.Context())
	if err != nil || after.Bytes > before.Bytes*2/3 || after.Rows != before.Rows-n {
		t.Errorf("%+v of %+v are left, %v", after, before, err)
	}
	ask(t, s, "select max(floor(timestamp_ns / 1000000000)) from events", fmt.Sprint(100+batches-1)) // the newest stay
}

func testConcurrent(t *testing.T, with suite) {
	s := opened(t, with)
	var all sync.WaitGroup
	const writers, batches = 4, 10
	for w := range writers {
		all.Go(func() {
			for b := range batches {
				rows := gauges(50, int64(100+b)) // the same for all writers
				if _, err := s.Write(t.Context(), rows); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range 20 {
				r, err := s.Query(t.Context(), "select count(*) % 50 from events", limits())
				if err != nil {
					t.Error(err)
				} else if got := lines(r); got[0] != "0" && !with.dialect.Spread {
					t.Errorf("a part of a batch is seen: %v", got)
				}
			}
		})
	}
	all.Wait()
	ask(t, s, "select count(*) from events", fmt.Sprint(50*batches))
}

func testClosed(t *testing.T, with suite) {
	s := with.open(t, t.TempDir())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Write(t.Context(), gauges(1, 1)); err == nil {
		t.Error("a closed store takes rows")
	}
	if _, err := s.Query(t.Context(), "select 1", limits()); err == nil {
		t.Error("a closed store answers")
	}
}
