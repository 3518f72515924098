package stragglerprocessor

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
)

// Names of what is made of cohorts.
const (
	fleetScope  = "ingero.fleet"
	attrCluster = "ingero.cluster.id" // of the resource
	attrCohort  = "ingero.cohort"     // of a point: 16 hexadecimal digits
)

// cohortMetric is a gauge of a cohort. ok is false if it is not known.
type cohortMetric struct {
	name, unit, description string
	value                   func(m *cohorts.Middle) (v float64, ok bool)
}

// gauges are all of them. Own work is of a step, in the newest bucket of which a quorum is known.
var gauges = []cohortMetric{
	{"ingero.fleet.cohort.ranks", "{rank}", "Ranks of the cohort.", of(func(m *cohorts.Middle) float64 { return float64(m.Ranks) })},
	{"ingero.fleet.cohort.live", "{rank}", "Ranks of which a push came lately.", of(func(m *cohorts.Middle) float64 { return float64(m.Live) })},
	{"ingero.fleet.cohort.quorum", "{rank}", "Of how many ranks a bucket must be known: 3, and 60 %.", of(func(m *cohorts.Middle) float64 { return float64(m.Quorum) })},
	{"ingero.fleet.cohort.quorum_met", "1", "Whether one is known of so many.", of(func(m *cohorts.Middle) float64 { return flag(m.Known > 0) })},
	{"ingero.fleet.cohort.degraded", "1", "Whether many ranks turned suspect at once.", of(func(m *cohorts.Middle) float64 { return flag(m.Degraded) })},
	{"ingero.fleet.cohort.slow", "1", "Whether most ranks are slower than they were.", of(func(m *cohorts.Middle) float64 { return flag(m.Slow) })},
	{"ingero.fleet.cohort.step", "s", "Time between two steps, the median.", func(m *cohorts.Middle) (float64, bool) { return m.Interval, m.Interval > 0 }},
	{"ingero.fleet.cohort.known", "{rank}", "Ranks of which the newest bucket is known.", known(func(m *cohorts.Middle) float64 { return float64(m.Known) })},
	{"ingero.fleet.cohort.median", "s", "Own work of a step, the median; of an even number of ranks the upper of the middle two.", known(func(m *cohorts.Middle) float64 { return m.Mid })},
	{"ingero.fleet.cohort.lower", "s", "The next smaller own work than the median.", known(func(m *cohorts.Middle) float64 { return m.Lo })},
	{"ingero.fleet.cohort.upper", "s", "The next larger own work than the median.", known(func(m *cohorts.Middle) float64 { return m.Hi })},
	{"ingero.fleet.cohort.sigma", "1", "Noise of own work (log), the median of ranks.", known(func(m *cohorts.Middle) float64 { return m.Sigma })},
	{"ingero.fleet.cohort.threshold", "1", "The score below which a rank is slow.", known(func(*cohorts.Middle) float64 { return health.SlowScore() })},
}

func of(f func(m *cohorts.Middle) float64) func(m *cohorts.Middle) (float64, bool) {
	return func(m *cohorts.Middle) (float64, bool) { return f(m), true }
}

func known(f func(m *cohorts.Middle) float64) func(m *cohorts.Middle) (float64, bool) {
	return func(m *cohorts.Middle) (float64, bool) { return f(m), m.Known > 0 }
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// cohortMetrics are the gauges of cohorts, a resource for each cluster.
func cohortMetrics(at time.Time, list []cohorts.Middle) pmetric.Metrics {
	md := pmetric.NewMetrics()
	by := map[string]pmetric.MetricSlice{}
	for i := range list {
		m := &list[i]
		metrics, ok := by[m.Cluster]
		if !ok {
			metrics = resource(md, m.Cluster)
			by[m.Cluster] = metrics
		}
		for k := range gauges {
			v, ok := gauges[k].value(m)
			if !ok {
				continue
			}
			p := metrics.At(k).Gauge().DataPoints().AppendEmpty()
			p.SetTimestamp(pcommon.NewTimestampFromTime(at))
			p.SetDoubleValue(v)
			p.Attributes().PutStr(attrCohort, m.Cohort)
		}
	}
	for _, metrics := range by {
		metrics.RemoveIf(func(m pmetric.Metric) bool { return m.Gauge().DataPoints().Len() == 0 })
	}
	return md
}

// resource adds the resource of a cluster, with all gauges without points.
func resource(md pmetric.Metrics, cluster string) pmetric.MetricSlice {
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr(attrCluster, cluster)
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(fleetScope)
	for i := range gauges {
		m := sm.Metrics().AppendEmpty()
		m.SetName(gauges[i].name)
		m.SetUnit(gauges[i].unit)
		m.SetDescription(gauges[i].description)
		m.SetEmptyGauge()
	}
	return sm.Metrics()
}
