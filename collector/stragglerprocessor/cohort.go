package stragglerprocessor

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
)

// Names in the metrics of cohorts.
const (
	fleetScope  = "ingero.fleet"
	prefix      = "ingero.fleet.cohort." // of metrics
	attrCluster = "ingero.cluster.id"    // of the resource
	attrCohort  = "ingero.cohort"        // of a point: 16 hexadecimal digits
)

// gauge is a metric of a cohort.
type gauge struct {
	name, unit, description string
	value                   func(m *cohorts.Middle) float64
	known                   func(m *cohorts.Middle) bool // nil: always
}

// gauges are all metrics of a cohort. Own work is per step, in the newest bucket with a quorum.
var gauges = []gauge{
	{"ranks", "{rank}", "Ranks of the cohort.", func(m *cohorts.Middle) float64 { return float64(m.Ranks) }, nil},
	{
		"live", "{rank}", "Ranks of which a push came lately.",
		func(m *cohorts.Middle) float64 { return float64(m.Live) }, nil,
	},
	{
		"quorum", "{rank}", "Ranks that a bucket needs: 3, and 60 %.",
		func(m *cohorts.Middle) float64 { return float64(m.Quorum) }, nil,
	},
	{
		"quorum_met", "1", "Whether a bucket has that many ranks.",
		func(m *cohorts.Middle) float64 { return flag(hasMiddle(m)) }, nil,
	},
	{
		"degraded", "1", "Whether many ranks turned suspect at once.",
		func(m *cohorts.Middle) float64 { return flag(m.Degraded) }, nil,
	},
	{
		"slow", "1", "Whether most ranks are slower than they were.",
		func(m *cohorts.Middle) float64 { return flag(m.Slow) }, nil,
	},
	{
		"step", "s", "Time between two steps, the median.",
		func(m *cohorts.Middle) float64 { return m.Interval }, func(m *cohorts.Middle) bool { return m.Interval > 0 },
	},
	{
		"known", "{rank}", "Ranks in the newest bucket with a quorum.",
		func(m *cohorts.Middle) float64 { return float64(m.Known) }, hasMiddle,
	},
	{
		"median", "s", "Own work per step, the median; of an even number of ranks the upper of the middle two.",
		func(m *cohorts.Middle) float64 { return m.Mid }, hasMiddle,
	},
	{
		"lower", "s", "The next smaller own work than the median.",
		func(m *cohorts.Middle) float64 { return m.Lo }, hasMiddle,
	},
	{
		"upper", "s", "The next larger own work than the median.",
		func(m *cohorts.Middle) float64 { return m.Hi }, hasMiddle,
	},
	{
		"sigma", "1", "Noise of own work (log), the median of ranks.",
		func(m *cohorts.Middle) float64 { return m.Sigma }, hasMiddle,
	},
	{
		"threshold", "1", "The score below which a rank is slow.",
		func(*cohorts.Middle) float64 { return health.SlowScore() }, hasMiddle,
	},
}

func hasMiddle(m *cohorts.Middle) bool { return m.Known > 0 }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// cohortMetrics returns the gauges of cohorts, with a resource for each cluster.
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
			if gauges[k].known != nil && !gauges[k].known(m) {
				continue
			}
			p := metrics.At(k).Gauge().DataPoints().AppendEmpty()
			p.SetTimestamp(pcommon.NewTimestampFromTime(at))
			p.SetDoubleValue(gauges[k].value(m))
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
		m.SetName(prefix + gauges[i].name)
		m.SetUnit(gauges[i].unit)
		m.SetDescription(gauges[i].description)
		m.SetEmptyGauge()
	}
	return sm.Metrics()
}
