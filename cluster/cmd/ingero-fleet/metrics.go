package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// The metrics by cluster have published names. A rank's score is its peers' own work over its own, at most 1.
var (
	nodesDesc  = byCluster("active_nodes", "Nodes of which a push came lately.")
	ranksDesc  = byCluster("active_ranks", "Ranks of which a push came lately.")
	slowDesc   = byCluster("straggler_count", "Ranks that are slower than their peers.")
	suspects   = byCluster("suspect_count", "Ranks that may become stragglers.")
	medianDesc = byCluster("median", "The median score of ranks.")
	madDesc    = byCluster("mad", "The median distance of scores from it.")
	thresholds = byCluster("threshold", "The score below which a rank is slow.")
	coverage   = byCluster("coverage_low", "1 if too few ranks of a cohort push for it to be judged.")

	cohortsDesc = prometheus.NewDesc("ingero_fleet_cohorts", "Cohorts that are kept.", nil, nil)
	requests    = prometheus.NewDesc("ingero_fleet_requests_total", "Requests, by what came of them.",
		[]string{"what"}, nil)
	faultsDesc = prometheus.NewDesc("ingero_fleet_faults_total", "What was wrong with what came in.",
		[]string{"fault"}, nil)
	refusedDesc = prometheus.NewDesc("ingero_fleet_refused_total", "Parts of pushes that are not used.",
		[]string{"reason"}, nil)
)

func byCluster(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("ingero_fleet_"+name, help, []string{"cluster_id"}, nil)
}

// collector makes metrics of a fleet.
type collector struct{ fleet *fleetserver.Server }

func metricsHandler(fleet *fleetserver.Server) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{fleet})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	n := c.fleet.Counts()
	for what, count := range map[string]uint64{
		"pushed": n.Pushes, "pushed_published_gauges": n.Earlier, "polled": n.Polls, "denied": n.Denied, "busy": n.Busy,
	} {
		counter(requests, count, what)
	}
	for f, count := range n.Faults {
		counter(faultsDesc, count, wire.Fault(f).String())
	}
	for r, count := range n.Refused {
		counter(refusedDesc, count, health.Reason(r).String())
	}
	gauge(cohortsDesc, float64(n.Cohorts))
	list := c.fleet.Cohorts("")
	for _, s := range cohorts.Clusters(&list) {
		gauge(nodesDesc, float64(s.Nodes), s.Name)
		gauge(ranksDesc, float64(s.Ranks), s.Name)
		gauge(slowDesc, float64(s.Stragglers), s.Name)
		gauge(suspects, float64(s.Suspects), s.Name)
		gauge(thresholds, health.SlowScore(), s.Name)
		low := 0.0
		if s.Low {
			low = 1
		}
		gauge(coverage, low, s.Name)
		if s.Scored > 0 {
			gauge(medianDesc, s.Median, s.Name)
			gauge(madDesc, s.MAD, s.Name)
		}
	}
}
