package clickhouse_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
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

// cpuOf returns a server's CPU time in seconds.
func cpuOf(b *testing.B, s *clickhousetest.Server) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const utime, stime, ticks = 11, 12, 100 // proc(5), without the first two fields; ticks per second
	user, err := strconv.ParseFloat(fields[utime], 64)
	if err != nil {
		b.Fatal(err)
	}
	system, err := strconv.ParseFloat(fields[stime], 64)
	if err != nil {
		b.Fatal(err)
	}
	return (user + system) / ticks
}

// BenchmarkWrite writes batches of 20,000 rows over HTTP. An operation is a batch.
func BenchmarkWrite(b *testing.B) {
	const batch = 20_000
	server := clickhousetest.Start(b, b.TempDir())
	s, err := clickhouse.Open(b.Context(), server.URL("bench"), clickhouse.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	used, rows, first := 0.0, 0, cpuOf(b, server)
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
	st, err := s.Stats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(used/float64(rows)*1e6, "us-CPU/row")
	b.ReportMetric((cpuOf(b, server)-first)/float64(rows)*1e6, "us-server-CPU/row")
	b.ReportMetric(float64(st.Bytes)/float64(st.Rows), "B/row")
	b.ReportMetric(float64(rows), "rows")
}
