package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// BenchmarkGRPC sends requests of 500 points from four producers at once. An operation is such a request. Senders are
// in the same process, and their CPU time counts, too.
func BenchmarkGRPC(b *testing.B) {
	e := serve(b, filepath.Join(b.TempDir(), "echo.db"))
	before, sent := cpu(b), 0
	wait := e.produce(b, 4, func(work chan<- int) {
		for b.Loop() {
			work <- sent
			sent++
		}
	})
	wait()
	b.StopTimer()
	b.ReportMetric(float64(sent*perOne)/b.Elapsed().Seconds(), "points/s")
	b.ReportMetric((cpu(b)-before)/float64(sent*perOne)*1e6, "us-CPU/point")
}

// BenchmarkServer sends from 64 producers at once to the program in a process of its own, of which two others ask a
// question of all points up to ten times a second. The CPU time is that of the server, also for the answers, and its
// memory is the most that it had.
func BenchmarkServer(b *testing.B) {
	otlp, api := free(b), free(b)
	c := child(b, "serve", "--db-path", filepath.Join(b.TempDir(), "echo.db"), "--otlp-addr", otlp, "--otlp-http-addr", "",
		"--mcp-addr", api, "--health-addr", "")
	e := &echo{at: map[string]string{"OTLP over gRPC": otlp, "questions": api}}
	var reading sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	var answers []time.Duration
	var mu sync.Mutex // guards answers
	for range 2 {
		reading.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				status, got := e.ask(b, "select node_id, rank, count(*), avg(value) from events group by node_id, rank")
				if status != http.StatusOK {
					b.Errorf("%d %s", status, got)
				}
				mu.Lock()
				answers = append(answers, time.Since(begin))
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	before, sent := cpuOf(b, c.Process.Pid), 0
	wait := e.produce(b, producers, func(work chan<- int) {
		for b.Loop() {
			work <- sent
			sent++
		}
	})
	wait()
	b.StopTimer()
	used := cpuOf(b, c.Process.Pid) - before
	stop()
	reading.Wait()
	b.ReportMetric(float64(sent*perOne)/b.Elapsed().Seconds(), "points/s")
	b.ReportMetric(used/float64(sent*perOne)*1e6, "us-CPU/point")
	b.ReportMetric(peakOf(b, c.Process.Pid), "MiB")
	reportTimes(b, answers)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		b.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		b.Error(err)
	}
}

// produce starts producers, which send the requests whose numbers give puts into work. It returns a function that waits
// until they have ended.
func (e *echo) produce(b *testing.B, senders int, give func(chan<- int)) (wait func()) {
	b.Helper()
	var all sync.WaitGroup
	work := make(chan int)
	for range senders {
		client, ctx := e.client(b)
		all.Go(func() {
			for i := range work {
				if err := send(ctx, client, points(i%producers, i/producers)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	give(work)
	close(work)
	return all.Wait
}

// cpuOf is how many seconds of CPU time another process has taken.
func cpuOf(b *testing.B, pid int) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const utime, stime, ticks = 11, 12, 100 // proc(5), without the first two fields; ticks a second
	sum := 0.0
	for _, text := range []string{fields[utime], fields[stime]} {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += v
	}
	return sum / ticks
}

// peakOf is the most memory that another process had, in MiB.
func peakOf(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	var kB float64
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		b.Fatal(err)
	}
	return kB / 1024
}

// reportTimes reports how long answers took.
func reportTimes(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// pointsEnv is of how many points BenchmarkAnswers asks.
const pointsEnv = "INGERO_ECHO_BENCH_POINTS"

// BenchmarkAnswers asks the published questions and the tools, of 512 ranks that pushed 4 gauges every 10 seconds until
// now. The published questions are about all points, the tools about the last hour. An operation is an answer.
func BenchmarkAnswers(b *testing.B) {
	points := 500_000
	if text := os.Getenv(pointsEnv); text != "" {
		var err error
		if points, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "echo.db")
	fillFile(b, path, points)
	e := serve(b, path)
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

// fillFile makes a file of points, of which the last one is of now.
func fillFile(b *testing.B, path string, points int) {
	b.Helper()
	s, err := duckdb.Open(b.Context(), path, duckdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	series := storetest.Cluster()
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
