package thresholdextension

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/collector/thresholdextension/internal/metadata"
)

// observe registers the metrics of the fleet's state. They are read when they are collected, all from one snapshot.
func (t *Threshold) observe() (metric.Registration, error) {
	b := t.telemetry
	return metadata.Meter(t.settings).RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t.observeCounts(o)
		list := t.fleet.Cohorts("")
		for _, c := range cohorts.Clusters(&list) {
			t.observeCluster(o, &c)
		}
		return nil
	}, b.ActiveNodes, b.ActiveRanks, b.StragglerCount, b.SuspectCount, b.Median, b.Mad, b.Threshold, b.CoverageLow,
		b.Cohorts, b.Ranks, b.Requests, b.Faults, b.Refused)
}

func (t *Threshold) observeCounts(o metric.Observer) {
	b, n := t.telemetry, t.fleet.Counts()
	o.ObserveInt64(b.Cohorts, int64(n.Cohorts))
	o.ObserveInt64(b.Ranks, int64(n.Ranks))
	for what, count := range map[string]uint64{
		"pushed": n.Pushes, "pushed_published_gauges": n.Earlier, "polled": n.Polls, "foreign": n.Foreign,
	} {
		o.ObserveInt64(b.Requests, int64(count), with("what", what))
	}
	for f, count := range n.Faults {
		o.ObserveInt64(b.Faults, int64(count), with("fault", wire.Fault(f).String()))
	}
	for r, count := range n.Refused {
		o.ObserveInt64(b.Refused, int64(count), with("reason", health.Reason(r).String()))
	}
}

func (t *Threshold) observeCluster(o metric.Observer, c *cohorts.Cluster) {
	b, of := t.telemetry, with("cluster_id", c.Name)
	o.ObserveInt64(b.ActiveNodes, int64(c.Nodes), of)
	o.ObserveInt64(b.ActiveRanks, int64(c.Ranks), of)
	o.ObserveInt64(b.StragglerCount, int64(c.Stragglers), of)
	o.ObserveInt64(b.SuspectCount, int64(c.Suspects), of)
	o.ObserveFloat64(b.Threshold, health.SlowScore(), of)
	low := int64(0)
	if c.Low {
		low = 1
	}
	o.ObserveInt64(b.CoverageLow, low, of)
	if c.Scored > 0 {
		o.ObserveFloat64(b.Median, c.Median, of)
		o.ObserveFloat64(b.Mad, c.MAD, of)
	}
}

func with(key, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(key, value))
}
