package duckdb_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// cpu returns this process's CPU time in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkWrite writes batches of 20,000 rows, and of 120,000, as many as a queue writes together under load. An
// operation is a batch.
func BenchmarkWrite(b *testing.B) {
	for _, batch := range []int{500, 2000, 20_000, 120_000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) { benchmarkWrite(b, batch) })
	}
}

func benchmarkWrite(b *testing.B, batch int) {
	b.Helper()
	s, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "echo.db"), duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	used, rows := 0.0, 0
	series := storetest.Cluster()
	for b.Loop() {
		b.StopTimer()
		made := storetest.Health(series, batch, rows, 3333)
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
