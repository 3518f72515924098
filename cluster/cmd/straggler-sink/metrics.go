package main

import "github.com/prometheus/client_golang/prometheus"

// The metrics. Their names are published ones, of earlier sinks, but for those about the webhook and about
// when a rank became slow.
var (
	eventsTotal = prometheus.NewDesc("ingero_sink_events_total", "Events of slow ranks, by type.", []string{"type"}, nil)
	parseErrors = prometheus.NewDesc("ingero_sink_parse_errors_total", "Lines that are not events.", nil, nil)
	droppedDesc = prometheus.NewDesc("ingero_sink_dropped_total",
		"Events that are counted, but whose node or rank has no metric of its own, by reason.", []string{"reason"}, nil)
	connectedDesc = prometheus.NewDesc("ingero_sink_connected", "Sockets of tracers that are connected to.", nil, nil)
	lastDesc      = prometheus.NewDesc("ingero_sink_last_event_timestamp_seconds",
		"When the newest event happened, 0: none came yet.", nil, nil)
	activeDesc = prometheus.NewDesc("ingero_sink_active_stragglers", "Slow ranks of a node.",
		[]string{"cluster_id", "node_id"}, nil)
	sinceDesc = prometheus.NewDesc("ingero_sink_straggler_since_timestamp_seconds",
		"When the first of a node's slow ranks became slow.", []string{"cluster_id", "node_id"}, nil)
	causesDesc = prometheus.NewDesc("ingero_sink_causes_total", "Slow ranks whose cause was reported, by its kind.",
		[]string{"kind"}, nil)
	waitingDesc = prometheus.NewDesc("ingero_sink_waiting_gpu_seconds_total",
		"How long the GPUs of other ranks have waited for slow ones.", []string{"cluster_id"}, nil)
	unsentDesc = prometheus.NewDesc("ingero_sink_webhook_lost_total", "Events that the webhook did not take.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *server) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, to) }

// Collect implements prometheus.Collector.
func (s *server) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for t, n := range s.sink.Events {
		counter(eventsTotal, n, t)
	}
	for r, n := range s.sink.Dropped {
		counter(droppedDesc, n, r)
	}
	for k, n := range s.sink.Causes {
		counter(causesDesc, n, k)
	}
	for c, seconds := range s.sink.Waiting {
		to <- prometheus.MustNewConstMetric(waitingDesc, prometheus.CounterValue, seconds, c)
	}
	counter(parseErrors, s.sink.Faults)
	counter(unsentDesc, s.unsent)
	gauge(connectedDesc, float64(s.links()))
	last := 0.0
	if !s.sink.Last.IsZero() {
		last = float64(s.sink.Last.UnixNano()) / 1e9
	}
	gauge(lastDesc, last)
	for _, a := range s.sink.Active() {
		gauge(activeDesc, float64(a.Ranks), a.Cluster, a.Node.Node)
		gauge(sinceDesc, float64(a.Since.UnixNano())/1e9, a.Cluster, a.Node.Node)
	}
}
