package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// reportTimes reports how long answers took.
func reportTimes(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// pointsEnv is of how many points BenchmarkAnswers asks.
const pointsEnv = "INGERO_ECHO_BENCH_POINTS"

// BenchmarkAnswers asks the published questions and the tools, of 512 ranks that pushed 4 gauges, and of 64 nodes that
// pushed what GPUs they have, every 10 seconds until now; and of the demo's cluster, in which one rank was late. The
// published questions are about all points, the tools about the last hour. An operation is an answer.
func BenchmarkAnswers(b *testing.B) {
	path := filepath.Join(b.TempDir(), "echo.db")
	s, err := duckdb.Open(b.Context(), path, duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	fillStore(b, s)
	if _, err := s.Retain(b.Context(), 0, store.Retention{}); err != nil {
		b.Fatal(err)
	}
	st, err := s.Stats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d points, %.1f bytes each", st.Rows, float64(st.Bytes)/float64(st.Rows))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	answers(b, serve(b, path))
}

// BenchmarkAnswersOfClickHouse asks the same of ClickHouse's engine, behind a stand-in for its server.
func BenchmarkAnswersOfClickHouse(b *testing.B) {
	server := clickhousetest.Start(b, b.TempDir())
	s, err := clickhouse.Open(b.Context(), server.URL("bench"), clickhouse.Options{})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	fillStore(b, s)
	b.Logf("filled in %s", time.Since(begin).Round(time.Second))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	merge(b, server)
	answers(b, serve(b, "", "--store", server.URL("bench")))
}

// merge makes one part of each hour but the newest, as the server does ten minutes after the last part came.
func merge(b *testing.B, server *clickhousetest.Server) {
	b.Helper()
	conf, err := driver.ParseDSN(server.NativeURL("bench"))
	if err != nil {
		b.Fatal(err)
	}
	conn, err := driver.Open(conf)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var hours []string
	if err := conn.QueryRow(b.Context(), "select arraySort(groupUniqArray(partition)) from system.parts "+
		"where database = 'bench' and table = 'point' and active").Scan(&hours); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	for _, hour := range hours[:len(hours)-1] {
		if err := conn.Exec(b.Context(), "optimize table point partition "+hour+" final"); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d hours were merged in %s", len(hours)-1, time.Since(begin).Round(time.Second))
}

func answers(b *testing.B, e *echo) {
	b.Helper()
	requests, err := demo.Requests(time.Now().UnixNano())
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range requests {
		url := "http://" + e.at["OTLP over HTTP"] + r.Path
		if status, got := e.send(b, http.MethodPost, url, "application/x-protobuf", r.Body); status != http.StatusOK {
			b.Fatalf("%d %s", status, got)
		}
	}
	sql := func(text string) []byte {
		body, err := json.Marshal(map[string]string{"sql": text})
		if err != nil {
			b.Fatal(err)
		}
		return body
	}
	for _, q := range []struct {
		name, path string
		body       []byte
	}{
		{"rows of nodes", "sql", sql("SELECT cluster_id, node_id, COUNT(*) AS events FROM events GROUP BY cluster_id, node_id ORDER BY node_id;")},
		{"chains", "sql", sql("SELECT COUNT(DISTINCT json_extract_string(attrs_json, '$.causal_chain_id')) AS chains FROM events " +
			"WHERE attrs_json LIKE '%causal_chain_id%';")},
		{"stragglers", "sql", sql("SELECT node_id, COUNT(*) AS straggler_events FROM events WHERE value_double < 0.40 GROUP BY node_id;")},
		{"summary", "tools/fleet.cluster.summary", []byte("{}")},
		{"find_stragglers", "tools/fleet.cluster.find_stragglers", []byte("{}")},
		{"find_outlier_nodes", "tools/fleet.cluster.find_outlier_nodes", []byte(`{"args":{"metric":"ingero.node.health_score"}}`)},
		{"event_history", "tools/fleet.cluster.event_history", []byte(`{"args":{"node_id":"gpu-05","metric":"ingero.node.health_score"}}`)},
		{"anomaly_list", "tools/fleet.cluster.anomaly_list", []byte("{}")},
		{"get_cost", "tools/fleet.cluster.get_cost", []byte("{}")},
	} {
		b.Run(q.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				if status, got := e.http(b, http.MethodPost, "http://"+e.at["questions"]+"/api/v1/"+q.path, q.body); status != http.StatusOK {
					b.Fatalf("%d %s", status, got)
				}
				took = append(took, time.Since(begin))
			}
			reportTimes(b, took)
		})
	}
}

// fillStore writes points, of which the last one is of now.
func fillStore(b *testing.B, s store.Store) {
	b.Helper()
	points := 500_000
	if text := os.Getenv(pointsEnv); text != "" {
		var err error
		if points, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	series := append(storetest.Cluster(), storetest.Models()...)
	apart := 10 * int64(time.Second) / int64(len(series))
	const batch = 120_000
	later := time.Now().UnixNano() - storetest.Health(series, 1, points, apart)[0].Timestamp
	for from := 0; from < points; from += batch {
		rows := storetest.Health(series, min(batch, points-from), from, apart)
		for i := range rows {
			r := &rows[i]
			r.Timestamp += later
			r.Received, r.Key = r.Timestamp, r.Series.Key(r.Timestamp)
		}
		if _, err := s.Write(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
}
