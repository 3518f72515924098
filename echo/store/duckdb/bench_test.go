package duckdb_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
)

// health are rows as 64 nodes of 8 ranks push them: the published gauges, at one time after another.
func health(n, from int) []row.Row {
	metrics := []string{
		"ingero.node.health_score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
	}
	rows := make([]row.Row, n)
	for i := range rows {
		at := from + i
		rank, node := at%8, at/8%64
		r := &rows[i]
		*r = row.Row{
			Kind: row.Gauge, Timestamp: 1_700_000_000_000_000_000 + int64(at)*3333,
			Received: 1_700_000_000_000_000_000 + int64(at)*3333,
			Cluster:  "east", Node: fmt.Sprintf("gpu-%02d", node), Rank: int32(rank), NRanks: 512, Metric: metrics[at/512%4], Unit: "1",
			Double: float64(at*7919%1000) / 1000, HasDouble: true, Scope: "ingero.health",
			Attrs:    fmt.Sprintf(`{"ingero.node.rank":%d,"ingero.node.state":"active"}`, rank),
			Resource: fmt.Sprintf(`{"ingero.cluster.id":"east","ingero.node.id":"gpu-%02d","ingero.world_size":512}`, node),
		}
		r.Key = row.Key(r, 0)
	}
	return rows
}

// cpu is how many seconds of CPU time this process has taken.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkWrite writes batches of 20,000 rows. An operation is a batch.
func BenchmarkWrite(b *testing.B) {
	const batch = 20_000
	s, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "echo.db"), duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	used, rows := 0.0, 0
	for b.Loop() {
		b.StopTimer()
		made := health(batch, rows)
		before := cpu(b)
		b.StartTimer()
		if _, err := s.Write(b.Context(), made); err != nil {
			b.Fatal(err)
		}
		used += cpu(b) - before
		rows += batch
	}
	b.StopTimer()
	if _, err := s.Retain(b.Context(), 0, store.Retention{}); err != nil {
		b.Fatal(err)
	}
	st, err := s.Stats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(used/float64(rows)*1e6, "us-CPU/row")
	b.ReportMetric(float64(st.Bytes)/float64(st.Rows), "B/row")
	b.ReportMetric(float64(rows), "rows")
}
