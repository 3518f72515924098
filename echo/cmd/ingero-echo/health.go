package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/store"
)

// statsTime is how long looking at the store may take.
const statsTime = 2 * time.Second

var (
	pointsDesc = prometheus.NewDesc("ingero_echo_points_total",
		"Points, lines and spans, by what became of them: kept; duplicate: there already; refused: cannot be kept; "+
			"no_room: the queue was full; failed: the store could not be written. Senders are told of the last three.",
		[]string{"what"}, nil)
	leftOutDesc = prometheus.NewDesc("ingero_echo_left_out_total",
		"Parts of rows that are kept without them: links of spans, events of spans that cannot be kept, exemplars, "+
			"quantiles of summaries without a column.",
		nil, nil)
	requestsDesc = prometheus.NewDesc("ingero_echo_requests_total",
		"Requests, by what became of them: read, malformed, denied (no right token), busy (no room).", []string{"what"}, nil)
	waitingDesc = prometheus.NewDesc("ingero_echo_waiting_points", "Points that wait to be written.", nil, nil)
	batchesDesc = prometheus.NewDesc("ingero_echo_batches_total", "Transactions.", nil, nil)
	rowsDesc    = prometheus.NewDesc("ingero_echo_store_rows", "Rows in the store.", nil, nil)
	bytesDesc   = prometheus.NewDesc("ingero_echo_store_bytes", "What they take on disk.", nil, nil)
)

// healthHandler answers what a load balancer, Kubernetes and Prometheus ask.
func healthHandler(file store.Keeper, queue *intake.Queue, in *ingest.Server, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statsTime)
		defer cancel()
		if _, err := file.Stats(ctx); err != nil {
			logger.Warn("not ready", "err", err)
			http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	r := prometheus.NewRegistry()
	r.MustRegister(collector{file, queue, in, logger})
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	return mux
}

// collector makes metrics of what is counted.
type collector struct {
	file   store.Keeper
	queue  *intake.Queue
	in     *ingest.Server
	logger *slog.Logger
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	q, in := c.queue.Counts(), c.in.Counts()
	counter(pointsDesc, q.Kept, "kept")
	counter(pointsDesc, q.Duplicates, "duplicate")
	counter(pointsDesc, in.Refused, "refused")
	counter(pointsDesc, q.Full, "no_room")
	counter(pointsDesc, q.Failed, "failed")
	counter(leftOutDesc, in.LeftOut)
	counter(requestsDesc, in.Requests, "read")
	counter(requestsDesc, in.Malformed, "malformed")
	counter(requestsDesc, in.Denied, "denied")
	counter(requestsDesc, in.Busy, "busy")
	counter(batchesDesc, q.Batches)
	gauge(waitingDesc, q.Waiting)
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	s, err := c.file.Stats(ctx)
	if err != nil {
		c.logger.Warn("the store cannot be looked at", "err", err)
		return
	}
	gauge(rowsDesc, s.Rows)
	gauge(bytesDesc, s.Bytes)
}
